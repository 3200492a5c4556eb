"""What fields are called: the parts of bills and statements, in the languages they come in.

A field's name is anybody's choice, so it is taken apart into words (``totalHT``, ``total_ht``)
and compared as a whole: ``vat_rate`` is no ``vat``, and ``total_hours`` no ``total``.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache


def words_of(name: str) -> str:
    """A field's name as words with one space between, in small letters without accents."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name)
    plain = unicodedata.normalize("NFKD", spaced.casefold())
    plain = "".join(letter for letter in plain if not unicodedata.combining(letter))
    return " ".join(re.sub(r"[^\w]+|_+", " ", plain).split())


def _names(text: str) -> tuple[str, ...]:
    return tuple(" ".join(part.split()) for part in text.split(","))


NET = _names(
    "net, net amount, net total, net value, total net, total net amount, amount net, subtotal,"
    "sub total, taxable amount, total before tax, amount before tax, total excl tax, netto,"
    "nettobetrag, netto betrag, nettosumme, summe netto, gesamt netto, gesamtnetto, zwischensumme,"
    "warenwert, ht, total ht, montant ht, prix ht, total hors taxe, total hors taxes, sous total,"
    "base, base imponible, total base, neto, importe neto, total neto, imponibile,"
    "totale imponibile, totale netto, imposable, netto bedrag, bedrag excl btw, totaal excl btw,"
    "valor liquido, base tributavel, kwota netto, wartosc netto, 小計, 税抜金額, 不含税金额"
)
TAX = _names(
    "tax, tax amount, tax total, total tax, vat, vat amount, vat total, total vat, gst, hst, pst,"
    "cgst, sgst, igst, sales tax, mwst, mwst betrag, mehrwertsteuer, ust, ust betrag,"
    "umsatzsteuer, steuer, steuerbetrag, summe steuer, summe mwst, tva, montant tva, total tva,"
    "taxe, taxes, iva, importe iva, cuota iva, total iva, cuota, impuesto, impuestos, imposta,"
    "btw, btw bedrag, moms, kwota vat, 消費税, 税額, 税额"
)
GROSS = _names(
    "grand total, total gross, gross total, gross, gross amount, total ttc, montant ttc, ttc,"
    "brutto, bruttobetrag, summe brutto, gesamt brutto, gesamtbrutto, total incl tax,"
    "total including tax, total with tax, total, total amount, invoice total, amount total,"
    "gesamtbetrag, gesamt, gesamtsumme, endbetrag, rechnungsbetrag, rechnungssumme, endsumme,"
    "summe, importe total, total factura, total importe, total a pagar, totale, totale fattura,"
    "totaal, totaalbedrag, bedrag incl btw, totaal incl btw, valor total, kwota brutto,"
    "wartosc brutto, importe, montant total, amount, betrag, montant, importo, total due,"
    "amount due, net a payer, zahlbetrag, 合計, 合计, 総額, 总计"
)
EXTRA = _names(
    "shipping, shipping cost, shipping costs, freight, delivery, handling, postage, carriage, tip,"
    "rounding, surcharge, fee, fees, deposit, versand, versandkosten, porto, fracht, pfand, frais,"
    "frais de port, port, livraison, envio, gastos de envio, portes, spedizione, verzendkosten,"
    "discount, discount amount, total discount, rebate, rabatt, skonto, nachlass, remise, rabais,"
    "escompte, descuento, sconto, korting, retencion, irpf, ritenuta, withholding,"
    "withholding tax, prepaid, paid, amount paid, anzahlung, acompte"
)
LINE = _names(
    "amount, line total, line amount, total, net, net amount, total price, price total, extended,"
    "extended price, total amount, betrag, gesamt, gesamtpreis, gesamtbetrag, summe,"
    "positionsbetrag, netto, montant, montant ht, total ht, prix total, importe, importe total,"
    "precio total, total linea, importo, prezzo totale, totale, bedrag, totaal, subtotal,"
    "valor, wartosc, 金額, 金额"
)
QUANTITY = _names(
    "quantity, qty, units, count, pieces, hours, menge, anzahl, stuck, stueck, stunden, quantite,"
    "qte, cantidad, cant, unidades, quantita, qta, aantal, hoeveelheid, quantidade, ilosc, 数量"
)
PRICE = _names(
    "unit price, price, price per unit, price each, rate, unit cost, unit net price,"
    "net unit price, hourly rate, einzelpreis, stuckpreis, stueckpreis, preis, epreis, e preis,"
    "stundensatz, prix unitaire, prix unitaire ht, pu, pu ht, prix, precio unitario, precio,"
    "prezzo unitario, prezzo, eenheidsprijs, stukprijs, prijs, preco unitario, preco,"
    "cena jednostkowa, 単価, 单价"
)
OPENING = _names(
    "opening balance, previous balance, beginning balance, starting balance, start balance,"
    "initial balance, balance brought forward, opening, anfangssaldo, anfangsbestand, alter saldo,"
    "saldo alt, eroffnungssaldo, saldovortrag, solde initial, ancien solde, solde precedent,"
    "solde de depart, solde anterieur, saldo inicial, saldo anterior, saldo iniziale,"
    "saldo precedente, beginsaldo, vorig saldo, 期初余额, 前月残高, 繰越残高"
)
CLOSING = _names(
    "closing balance, ending balance, end balance, new balance, final balance, closing,"
    "endsaldo, neuer saldo, saldo neu, schlusssaldo, schlussbestand, endbestand, abschlusssaldo,"
    "solde final, nouveau solde, solde de cloture, solde de fin, saldo final, saldo actual,"
    "saldo finale, nuovo saldo, eindsaldo, nieuw saldo, 期末余额, 当月残高"
)
DEBIT = _names(
    "debit, debits, debit amount, dr, withdrawal, withdrawals, paid out, money out, out, outgoing,"
    "soll, lastschrift, ausgang, ausgabe, belastung, debito, cargo, cargos, debe, dare, uscite,"
    "addebito, af, uitgaven, 支出, 出金"
)
CREDIT = _names(
    "credit, credits, credit amount, cr, deposit, deposits, paid in, money in, in, incoming,"
    "haben, gutschrift, eingang, einnahme, credito, abono, abonos, haber, avere, entrate,"
    "accredito, bij, ontvangsten, 収入, 入金, 收入"
)
TYPES = _names(
    "type, kind, direction, transaction type, dc, d c, debit credit, sign, art, typ, sens, tipo,"
    "soll haben, sh, s h"
)
ISSUED = _names(
    "date, invoice date, issue date, issued, statement date, order date, rechnungsdatum, datum,"
    "date facture, date de facture, fecha, fecha factura, fecha de factura, data, data fattura"
)
DUE = _names(
    "due date, payment date, payment due, due, fallig, faellig, falligkeitsdatum, zahlbar bis,"
    "date echeance, echeance, fecha vencimiento, vencimiento, scadenza, data scadenza"
)
OTHER_LISTS = re.compile(
    r"\b(tax|taxes|vat|vats|mwst|ust|tva|iva|payments?|zahlung\w*|instal\w+|raten|discounts?|"
    r"rabatte?|schedule|history)\b"
)
"""Lists beside a bill's lines: their amounts are no parts of its sum."""
NUMBER_WORDS = re.compile(r"\b(number|no|nr|num|id|code|ref|reference|nummer|numero|numéro)\b")
"""Words of a field that tells one document from another."""
NO_LINE = re.compile(
    r"(?i)\b(sub ?-?total|total\w*|sum|summe\w*|gesamt\w*|zwischensumme|netto|brutto|net|gross|tax|"
    r"vat|gst|mwst|ust|tva|iva|ht|ttc|btw|importe total|base imponible|imponibile|balance|saldo|"
    r"solde|carried|brought|ubertrag|übertrag|report|shipping|versand\w*|discount|rabatt|due)\b"
    r"|合計|合计|小計|小计|税|残高|余额"
)
"""Words of a table's row that is no line of its own: sums, taxes, balances."""


_FIRST = re.compile(
    r"^(invoice|bill|order|document|receipt|statement|account|item|rechnungs?|facture|factura"
    r"|fattura) "
)


@lru_cache(maxsize=4096)
def rank(name: str, names: tuple[str, ...]) -> int:
    """A name's place among the names of one meaning, the best first; -1 where it has another."""
    words = words_of(name)
    for form in (words, _FIRST.sub("", words)):
        if form in names:
            return names.index(form)
    return -1
