"""Nouns, each table one kind of thing: English | German with article, plural | Chinese and its measure word."""

from hexapla.phrasebook.words import nouns

ROOMS = nouns("""
    room        | das Zimmer, Zimmer             | 房间 间
    single room | das Einzelzimmer, Einzelzimmer | 单人房 间
    double room | das Doppelzimmer, Doppelzimmer | 双人房 间
    apartment   | die Ferienwohnung, Ferienwohnungen | 公寓 套
""")

EQUIPMENT = nouns("""
    lamp            | die Lampe, Lampen               | 灯 盏
    television      | der Fernseher, Fernseher        | 电视 台
    air conditioner | die Klimaanlage, Klimaanlagen   | 空调 台
    phone           | das Telefon, Telefone           | 电话 部
    fridge          | der Kühlschrank, Kühlschränke   | 冰箱 台
    hairdryer       | der Föhn, Föhne                 | 吹风机 个
    coffee machine  | die Kaffeemaschine, Kaffeemaschinen | 咖啡机 台
""")

FIXTURES = nouns("""
    shower   | die Dusche, Duschen    | 淋浴 个
    heating  | die Heizung            | 暖气
    toilet   | die Toilette, Toiletten | 马桶 个
    lift     | der Aufzug, Aufzüge    | 电梯 部
""")

OPENINGS = nouns("""
    window | das Fenster, Fenster | 窗户 扇
    door   | die Tür, Türen       | 门 扇
""")

SUPPLIES = nouns("""
    towel    | das Handtuch, Handtücher     | 毛巾 条
    blanket  | die Decke, Decken            | 毯子 条
    pillow   | das Kissen, Kissen           | 枕头 个
    chair    | der Stuhl, Stühle            | 椅子 把
    key      | der Schlüssel, Schlüssel     | 钥匙 把
    umbrella | der Regenschirm, Regenschirme | 雨伞 把
    map      | der Stadtplan, Stadtpläne    | 地图 张
    newspaper | die Zeitung, Zeitungen      | 报纸 份
""")

TABLEWARE = nouns("""
    knife, knives | das Messer, Messer | 刀 把
    fork          | die Gabel, Gabeln  | 叉子 把
    spoon         | der Löffel, Löffel | 勺子 把
    plate         | der Teller, Teller | 盘子 个
""")

PAPERS = nouns("""
    bill    | die Rechnung, Rechnungen     | 账单 张
    receipt | die Quittung, Quittungen     | 收据 张
    menu    | die Speisekarte, Speisekarten | 菜单 份
""")

BELONGINGS = nouns("""
    suitcase | der Koffer, Koffer        | 行李箱 个
    bag      | die Tasche, Taschen       | 手提包 个
    backpack | der Rucksack, Rucksäcke   | 背包 个
    coat     | der Mantel, Mäntel        | 大衣 件
    camera   | die Kamera, Kameras       | 照相机 台
    mobile phone | das Handy, Handys     | 手机 部
    wallet   | die Brieftasche, Brieftaschen | 钱包 个
    passport | der Pass, Pässe           | 护照 本
""")

GOODS = {**{en: BELONGINGS[en] for en in BELONGINGS if en != "passport"}, **{en: SUPPLIES[en] for en in ("umbrella", "map", "newspaper")}}
LUGGAGE = nouns("luggage | das Gepäck | 行李")

FURNITURE = nouns("""
    table | der Tisch, Tische | 桌子 张
    bed   | das Bett, Betten  | 床 张
""")

VEHICLES = nouns("""
    bus   | der Bus, Busse    | 公共汽车 路
    train | der Zug, Züge     | 火车 趟
    ferry | die Fähre, Fähren | 渡轮 艘
""")

TAXI = nouns("taxi | das Taxi, Taxis | 出租车 辆")["taxi"]
FLIGHT = nouns("flight | der Flug, Flüge | 航班 趟")["flight"]

RENTALS = nouns("""
    car     | das Auto, Autos        | 汽车 辆
    bicycle | das Fahrrad, Fahrräder | 自行车 辆
""")

TICKETS = nouns("""
    train ticket | die Fahrkarte, Fahrkarten         | 火车票 张
    ticket       | die Eintrittskarte, Eintrittskarten | 门票 张
""")

DISHES = nouns("""
    soup     | die Suppe, Suppen     | 汤 碗
    salad    | der Salat, Salate     | 沙拉 份
    steak    | das Steak, Steaks     | 牛排 份
    pizza    | die Pizza, Pizzas     | 比萨 份
    sausage  | die Wurst, Würste     | 香肠 根
    egg      | das Ei, Eier          | 鸡蛋 个
    sandwich | das Sandwich, Sandwiches | 三明治 个
""")

DRINKS = nouns("""
    coffee       | der Kaffee       | 咖啡 杯
    tea          | der Tee          | 茶 杯
    milk         | die Milch        | 牛奶 杯
    water        | das Wasser       | 水 瓶
    beer         | das Bier         | 啤酒 瓶
    orange juice | der Orangensaft  | 橙汁 杯
    red wine     | der Rotwein      | 红葡萄酒 杯
    white wine   | der Weißwein     | 白葡萄酒 杯
""")

FOODS = nouns("""
    meat   | das Fleisch | 肉
    fish   | der Fisch   | 鱼
    rice   | der Reis    | 米饭
    cheese | der Käse    | 奶酪 块
    bread  | das Brot    | 面包 块
    cake   | der Kuchen  | 蛋糕 块
""")

MEALS = nouns("""
    breakfast | das Frühstück   | 早餐
    lunch     | das Mittagessen | 午餐
    dinner    | das Abendessen  | 晚餐
""")

HELPINGS = nouns("""
    cup    | die Tasse, Tassen    | 杯 杯
    glass  | das Glas, Gläser     | 杯 杯
    bottle | die Flasche, Flaschen | 瓶 瓶
    piece  | das Stück, Stück     | 块 块
""")
SERVED_IN = {
    **dict.fromkeys(("coffee", "tea"), "cup"),
    **dict.fromkeys(("milk", "orange juice", "red wine", "white wine"), "glass"),
    **dict.fromkeys(("water", "beer"), "bottle"),
    **dict.fromkeys(("cheese", "bread", "cake"), "piece"),
}

FAMILY = nouns("""
    wife     | die Frau, Frauen    | 妻子 位
    husband  | der Mann, Männer    | 丈夫 位
    son      | der Sohn, Söhne     | 儿子 个
    daughter | die Tochter, Töchter | 女儿 个
    friend   | der Freund, Freunde | 朋友 位
    mother   | die Mutter, Mütter  | 母亲 位
    father   | der Vater, Väter    | 父亲 位
""")

CHILDREN = [FAMILY[en] for en in ("son", "daughter", "friend")]
STAFF = nouns("""
    doctor | der Arzt, Ärzte     | 医生 位
    driver | der Fahrer, Fahrer  | 司机 位
    waiter | der Kellner, Kellner | 服务员 位
    guide  | der Reiseleiter, Reiseleiter | 导游 位
""")

MEDICINE = nouns("medicine | das Medikament, Medikamente | 药 种")["medicine"]
RESERVATION = nouns("reservation | die Reservierung, Reservierungen | 预订 个")["reservation"]
COMFORTS = nouns("""
    hot water | das Warmwasser | 热水
    wifi      | das WLAN       | 无线网络
""")
