"""Tools that others describe: of MCP servers, and of HTTP interfaces with an OpenAPI document."""
