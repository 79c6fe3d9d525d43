"""Places, and the prepositions that tie things to them.

Table: English | German | Chinese and measure word | English at, German where, German whereto, Chinese suffix of 在…
"""

from dataclasses import dataclass

from hexapla.phrasebook.words import Case, nouns, words

BUILDINGS = nouns("""
    hotel        | das Hotel, Hotels             | 酒店 家     | at in zu 里
    museum       | das Museum, Museen            | 博物馆 座   | at in in 里
    restaurant   | das Restaurant, Restaurants   | 餐厅 家     | at in in 里
    café         | das Café, Cafés               | 咖啡馆 家   | in in in 里
    bank         | die Bank, Banken              | 银行 家     | at in zu 里
    pharmacy     | die Apotheke, Apotheken       | 药店 家     | at in zu 里
    supermarket  | der Supermarkt, Supermärkte   | 超市 家     | in in in 里
    cinema       | das Kino, Kinos               | 电影院 家   | at in in 里
    theatre      | das Theater, Theater          | 剧院 家     | at in in 里
    hospital     | das Krankenhaus, Krankenhäuser | 医院 家    | at in in 里
    church, churches | die Kirche, Kirchen       | 教堂 座     | in in zu 里
    castle       | das Schloss, Schlösser        | 城堡 座     | at in zu 里
""")

STOPS = nouns("""
    station  | der Bahnhof, Bahnhöfe            | 火车站 个     | at an zu
    airport  | der Flughafen, Flughäfen         | 机场 个       | at an zu
    harbour  | der Hafen, Häfen                 | 港口 个       | at an zu
    bus stop | die Bushaltestelle, Bushaltestellen | 公共汽车站 个 | at an zu
""")

OUTDOORS = nouns("""
    park   | der Park, Parks     | 公园 个 | in in in 里
    beach  | der Strand, Strände | 海滩 片 | on an an 上
    market | der Markt, Märkte   | 市场 个 | at auf auf 上
    swimming pool | das Schwimmbad, Schwimmbäder | 游泳池 个 | at in in 里
""")

ROADS = nouns("""
    traffic light | die Ampel, Ampeln        | 红绿灯 个 | at an zu
    crossing      | die Kreuzung, Kreuzungen | 路口 个   | at an zu
    bridge        | die Brücke, Brücken      | 大桥 座   | at an zu
""")

INDOORS = nouns("""
    room      | das Zimmer, Zimmer | 房间 间 | in in in 里
    bathroom  | das Bad, Bäder     | 浴室 间 | in in in 里
    lobby     | die Lobby, Lobbys  | 大厅 个 | in in in 里
    garden    | der Garten, Gärten | 花园 个 | in in in 里
""")
RECEPTION = nouns("reception | die Rezeption, Rezeptionen | 前台 个 | at an zu")["reception"]
RIDES = nouns("""
    taxi  | das Taxi, Taxis   | 出租车 辆   | in in in 里
    train | der Zug, Züge     | 火车 趟     | on in in 上
    bus   | der Bus, Busse    | 公共汽车 路 | on in in 上
""")

PLACES = {**BUILDINGS, **STOPS, **OUTDOORS, **ROADS, **INDOORS, **RIDES, "reception": RECEPTION}
SIGHTS = [PLACES[en] for en in ("museum", "castle", "theatre", "cinema", "swimming pool")]
TOWN = [*BUILDINGS.values(), *STOPS.values(), *OUTDOORS.values()]

CITIES = words("""
    Berlin   | Berlin   | 柏林
    Hamburg  | Hamburg  | 汉堡
    Munich   | München  | 慕尼黑
    Cologne  | Köln     | 科隆
    Vienna   | Wien     | 维也纳
    Zurich   | Zürich   | 苏黎世
    London   | London   | 伦敦
    Paris    | Paris    | 巴黎
    Beijing  | Peking   | 北京
    Shanghai | Schanghai | 上海
""")
PORTS = [CITIES[en] for en in ("Hamburg", "London", "Shanghai")]


@dataclass(frozen=True, slots=True)
class Preposition:
    """`zh` frames the adverbial (在…旁边), `zh_of` the attribute before a noun (…旁边的). `locale` takes the place's own words."""

    en: str
    de: str
    case: Case
    zh: str
    zh_of: str
    locale: str = ""


_D, _A, _G = Case.DATIVE, Case.ACCUSATIVE, Case.GENITIVE
AT = Preposition("", "", _D, "在{}", "{}的", "at")
TO = Preposition("to", "", _D, "{}", "去{}的", "to")
TO_CITY = Preposition("to", "nach", _D, "{}", "去{}的")
FROM = Preposition("from", "von", _D, "从{}", "从{}来的")
FROM_CITY = Preposition("from", "aus", _D, "从{}", "从{}来的")
AS_FAR_AS = Preposition("straight ahead to", "geradeaus bis zu", _D, "{}", "到{}的")
TO_REACH = Preposition("to", "zu", _D, "{}", "去{}的")
TOWARDS = Preposition("to", "zu", _D, "到{}", "到{}的")
NEXT_TO = Preposition("next to", "neben", _D, "在{}旁边", "{}旁边的")
OPPOSITE = Preposition("opposite", "gegenüber", _D, "在{}对面", "{}对面的")
BEHIND = Preposition("behind", "hinter", _D, "在{}后面", "{}后面的")
IN_FRONT_OF = Preposition("in front of", "vor", _D, "在{}前面", "{}前面的")
NEAR = Preposition("near", "in der Nähe", _G, "在{}附近", "{}附近的")
ON = Preposition("on", "auf", _D, "在{}上", "{}上的")
UNDER = Preposition("under", "unter", _D, "在{}下面", "{}下面的")
TOGETHER_WITH = Preposition("with", "mit", _D, "和{}一起", "和{}的")
TICKET_FOR = Preposition("for", "für", _A, "{}", "{}的")
BESIDE = (NEXT_TO, OPPOSITE, BEHIND, IN_FRONT_OF, NEAR)
