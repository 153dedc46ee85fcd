"""The world of the feed: places that packages pass and carriers that move them."""

from typing import NamedTuple


class Place(NamedTuple):
    """Where a stop is, in the order of the wire fields. An empty text is null on the wire."""

    country: str
    state: str
    city: str
    postal_code: str


class Carrier(NamedTuple):
    """Who scans, and how its scanners write the time: the contract allows all of these."""

    code: str
    time_separator: str
    fraction_digits: int
    utc_offset_minutes: int
    utc_offset_text: str


CARRIERS = (
    Carrier("ACME", "T", 6, 0, "Z"),
    Carrier("BLUE", "T", 3, 0, "Z"),
    Carrier("CARGO", " ", 0, 0, ""),
    Carrier("DASH", "T", 9, -300, "-05:00"),
    Carrier("EURO", "T", 3, 60, "+01:00"),
    Carrier("FLEET", " ", 6, 330, "+05:30"),
)

PLACES = (
    Place("US", "NY", "New York", "10001"),
    Place("US", "DC", "Washington, D.C.", "20001"),
    Place("US", "IL", "Chicago", "60601"),
    Place("US", "TX", "Dallas", "75201"),
    Place("US", "GA", "Atlanta", "30303"),
    Place("US", "CA", "Los Angeles", "90012"),
    Place("US", "CO", "Denver", "80202"),
    Place("US", "TN", "Memphis", "38103"),
    Place("US", "KY", "Louisville", "40202"),
    Place("US", "WA", "Seattle", "98101"),
    Place("CA", "ON", "Toronto", "M5H 2N2"),
    Place("CA", "QC", "Montréal", "H2Y 1C6"),
    Place("CA", "BC", "Vancouver", "V6B 1A1"),
    Place("MX", "CMX", "Ciudad de México", "06000"),
    Place("MX", "NLE", "Monterrey", "64000"),
    Place("BR", "SP", "São Paulo", "01001-000"),
    Place("BR", "RJ", "Rio de Janeiro", "20010-000"),
    Place("AR", "C", "Buenos Aires", "C1001AAA"),
    Place("CL", "RM", "Santiago", "8320000"),
    Place("CO", "DC", "Bogotá", "110111"),
    Place("GB", "ENG", "London", "EC1A 1BB"),
    Place("GB", "SCT", "Edinburgh", "EH1 1BB"),
    Place("IE", "L", "Baile Átha Cliath", "D01 F5P2"),
    Place("FR", "IDF", "Paris", "75001"),
    Place("FR", "PAC", "Aix-en-Provence", "13100"),
    Place("FR", "IDF", "L'Haÿ-les-Roses", "94240"),
    Place("ES", "MD", "Madrid", "28001"),
    Place("ES", "AN", "Málaga", "29001"),
    Place("PT", "11", "Lisboa", "1100-148"),
    Place("IT", "MI", "Milano", "20121"),
    Place("DE", "BE", "Berlin", "10115"),
    Place("DE", "BY", "München", "80331"),
    Place("DE", "NW", "Köln", "50667"),
    Place("CH", "ZH", "Zürich", "8001"),
    Place("AT", "9", "Wien", "1010"),
    Place("NL", "NH", "Amsterdam", "1012 JS"),
    Place("DK", "84", "København", "1050"),
    Place("SE", "M", "Malmö", "211 20"),
    Place("NO", "03", "Oslo", "0150"),
    Place("IS", "", "Reykjavík", "101"),
    Place("FI", "18", "Helsinki", "00100"),
    Place("PL", "MA", "Kraków", "31-001"),
    Place("CZ", "10", "Praha", "110 00"),
    Place("UA", "30", "Київ", "01001"),
    Place("GR", "I", "Αθήνα", "105 57"),
    Place("TR", "34", "İstanbul", "34110"),
    Place("EG", "C", "القاهرة", "11511"),
    Place("AE", "DU", "Dubai", ""),
    Place("IN", "MH", "Mumbai", "400001"),
    Place("SG", "", "Singapore", "018956"),
    Place("HK", "", "Hong Kong", ""),
    Place("KR", "11", "서울", "04524"),
    Place("JP", "13", "東京", "100-0001"),
    Place("JP", "27", "大阪", "530-0001"),
    Place("AU", "NSW", "Sydney", "2000"),
    Place("NZ", "AUK", "Auckland", "1010"),
)
