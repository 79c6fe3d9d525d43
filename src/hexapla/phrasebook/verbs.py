"""Verbs: English four forms | German infinitive (prefix/…), third person, auxiliary, participle | Chinese | German object."""

from dataclasses import dataclass, replace

from hexapla.phrasebook.words import Case, Verb, cells

_CASES = {"nom": Case.NOMINATIVE, "acc": Case.ACCUSATIVE, "dat": Case.DATIVE}


def _verb(english: str, german: str, chinese: str, *governs: str) -> Verb:
    en, third, past, participle, *after = english.split()
    infinitive, de_third, auxiliary, de_participle = german.split()
    prefix, slash, stem = infinitive.rpartition("/")
    options = governs[0].split() if governs else []
    case = next((_CASES[option] for option in options if option in _CASES), Case.ACCUSATIVE)
    return Verb(
        *(en, third, past, participle),
        *(stem if slash else infinitive, prefix, de_third, auxiliary, de_participle, chinese),
        en_after=" ".join(after).lstrip("+"),
        en_preposition=bool(after) and after[0].startswith("+"),
        object=case,
        de_preposition=next((option for option in options if option == "auf"), ""),
        progressive=next((option for option in options if option.endswith("ing")), ""),
        experienced="experienced" in options,
    )


def _verbs(table: str) -> dict[str, Verb]:
    return {row[0].split()[0]: _verb(*row) for row in cells(table)}


VERBS = _verbs("""
    book books booked booked              | buchen bucht hat gebucht             | 订
    reserve reserves reserved reserved    | reservieren reserviert hat reserviert | 预订
    cancel cancels cancelled cancelled    | stornieren storniert hat storniert   | 取消
    need needs needed needed              | brauchen braucht hat gebraucht       | 需要
    have has had had                      | haben hat hat gehabt                 | 有
    leave leaves left left                | ab/reisen reist ist abgereist        | 离开
    arrive arrives arrived arrived        | an/kommen kommt ist angekommen       | 到
    stay stays stayed stayed              | bleiben bleibt ist geblieben         | 住
    travel travels travelled travelled    | fahren fährt ist gefahren            | 去
    fly flies flew flown                  | fliegen fliegt ist geflogen          | 坐飞机去
    go goes went gone                     | gehen geht ist gegangen              | 去
    run runs ran run                      | fahren fährt ist gefahren            | 开往
    get gets got got                      | kommen kommt ist gekommen            | 去
    take takes took taken                 | nehmen nimmt hat genommen            | 坐
    pay pays paid paid                    | bezahlen bezahlt hat bezahlt         | 付
    order orders ordered ordered          | bestellen bestellt hat bestellt      | 点
    eat eats ate eaten                    | essen isst hat gegessen              | 吃
    drink drinks drank drunk              | trinken trinkt hat getrunken         | 喝
    bring brings brought brought          | bringen bringt hat gebracht          | 给{}拿
    give gives gave given                 | geben gibt hat gegeben               | 给{}
    show shows showed shown               | zeigen zeigt hat gezeigt             | 给{}看
    recommend recommends recommended recommended | empfehlen empfiehlt hat empfohlen | 给{}推荐
    call calls called called              | rufen ruft hat gerufen               | 给{}叫
    tell tells told told                  | sagen sagt hat gesagt                | 告诉{}
    phone phones phoned phoned            | an/rufen ruft hat angerufen          | 给{}打电话
    wake wakes woke woken                 | wecken weckt hat geweckt             | 叫醒
    pick picks picked picked up           | ab/holen holt hat abgeholt           | 接
    help helps helped helped              | helfen hilft hat geholfen            | 帮助 | dat
    look looks looked looked +for         | suchen sucht hat gesucht             | 在找 | looking
    wait waits waited waited +for         | warten wartet hat gewartet           | 在等 | auf acc waiting
    find finds found found                | finden findet hat gefunden           | 找到
    lose loses lost lost                  | verlieren verliert hat verloren      | 弄丢
    buy buys bought bought                | kaufen kauft hat gekauft             | 买
    rent rents rented rented              | mieten mietet hat gemietet           | 租
    visit visits visited visited          | besuchen besucht hat besucht         | 参观
    repair repairs repaired repaired      | reparieren repariert hat repariert   | 修理
    clean cleans cleaned cleaned          | putzen putzt hat geputzt             | 打扫
    open opens opened opened              | öffnen öffnet hat geöffnet           | 打开
    close closes closed closed            | schließen schließt hat geschlossen   | 关上
    work works worked worked              | funktionieren funktioniert hat funktioniert | 能用
    begin begins began begun              | beginnen beginnt hat begonnen        | 开始
    cost costs cost cost                  | kosten kostet hat gekostet           | 要
    like likes liked liked                | gefallen gefällt hat gefallen        | 喜欢 | experienced
    know knows knew known                 | wissen weiß hat gewusst              | 知道
    think thinks thought thought          | glauben glaubt hat geglaubt          | 觉得
    hope hopes hoped hoped                | hoffen hofft hat gehofft             | 希望
    say says said said                    | sagen sagt hat gesagt                | 说
    rain rains rained rained              | regnen regnet hat geregnet           | 下雨
    snow snows snowed snowed              | schneien schneit hat geschneit       | 下雪
    turn turns turned turned              | ab/biegen biegt ist abgebogen        | 拐
    walk walks walked walked              | gehen geht ist gegangen              | 一直走到
""")

# English says one thing where German or Chinese tell two apart.
_OTHERS = _verbs("""
    open opens opened opened     | öffnen öffnet hat geöffnet         | 开门
    close closes closed closed   | schließen schließt hat geschlossen | 关门
    take takes took taken        | ein/nehmen nimmt hat eingenommen   | 吃
    leave leaves left left       | ab/fahren fährt ist abgefahren     | 出发
    pay pays paid paid           | bezahlen bezahlt hat bezahlt       | 付钱
    have has had had             | haben hat hat gehabt               |
    check checks checked checked in | ein/checken checkt hat eingecheckt | 办理入住
""")
OPEN_UP, CLOSE_UP, SWALLOW, SET_OFF, PAY_UP, SUFFER, CHECK_IN = _OTHERS.values()
TAKE_OFF = _verb("leave leaves left left", "ab/fliegen fliegt ist abgeflogen", "起飞")
CHECK_OUT = _verb("check checks checked checked out", "aus/checken checkt hat ausgecheckt", "退房")

LIKE = VERBS["like"]
TURN_LEFT = replace(VERBS["turn"], en_after="left", prefix="links ab", zh="往左拐")
TURN_RIGHT = replace(VERBS["turn"], en_after="right", prefix="rechts ab", zh="往右拐")

BE = _verb("be is was been", "sein ist ist gewesen", "", "nom")
BECOME = _verb("be is was been", "werden wird ist geworden", "", "nom")
BE_FAR = _verb("be is was been", "sein ist ist gewesen", "有", "nom")
BE_LATE = _verb("be is was been", "haben hat hat gehabt", "")
EXIST = _verb("be is was been", "geben gibt hat gegeben", "有")


@dataclass(frozen=True, slots=True)
class Modal:
    en: str
    de_singular: str
    de_plural: str
    zh: str
    zh_not: str


CAN = Modal("can", "kann", "können", "可以", "不能")
MUST = Modal("must", "muss", "müssen", "必须", "不用")
WOULD_LIKE = Modal("would like to", "möchte", "möchten", "想", "不想")
COULD = Modal("could", "könnte", "könnten", "", "")
