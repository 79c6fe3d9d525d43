"""Adjectives: English, comparative | German (stem of its endings), comparative | Chinese as predicate, before a noun."""

from hexapla.phrasebook.words import adjectives, words

ROOMY = adjectives("""
    big, bigger                 | groß größer             | 大 大
    small, smaller              | klein kleiner           | 小 小
    quiet, quieter              | ruhig ruhiger           | 安静 安静的
    clean, cleaner              | sauber sauberer         | 干净 干净的
    cheap, cheaper              | billig billiger         | 便宜 便宜的
    expensive, more expensive   | teuer teur- teurer      | 贵 贵的
    bright, brighter            | hell heller             | 明亮 明亮的
    comfortable, more comfortable | bequem bequemer       | 舒服 舒服的
    beautiful, more beautiful   | schön schöner           | 漂亮 漂亮的
    modern, more modern         | modern moderner         | 现代 现代的
""")

FAULTS = adjectives("""
    dirty, dirtier | schmutzig schmutziger | 脏 脏的
    loud, louder   | laut lauter           | 吵 吵的
    dark, darker   | dunkel dunkl- dunkler | 暗 暗的
    old, older     | alt älter             | 旧 旧的
""")

CARRIED = adjectives("""
    heavy, heavier | schwer schwerer | 重 重的
    new, newer     | neu neuer       | 新 新
""")

COLOURS = adjectives("""
    red, redder     | rot roter      | 红 红色
    black, blacker  | schwarz schwärzer | 黑 黑色
    blue, bluer     | blau blauer    | 蓝 蓝色
    green, greener  | grün grüner    | 绿 绿色
    white, whiter   | weiß weißer    | 白 白色
    brown, browner  | braun brauner  | 棕 棕色
""")

TASTES = adjectives("""
    hot, hotter     | heiß heißer     | 烫 热的
    cold, colder    | kalt kälter     | 凉 凉的
    spicy, spicier  | scharf schärfer | 辣 辣的
    salty, saltier  | salzig salziger | 咸 咸的
    sweet, sweeter  | süß süßer       | 甜 甜的
    fresh, fresher  | frisch frischer | 新鲜 新鲜的
""")

QUALITIES = adjectives("""
    good, better      | gut besser         | 好 好
    famous, more famous | berühmt berühmter | 有名 有名的
    friendly, friendlier | freundlich freundlicher | 友好 友好的
    fast, faster      | schnell schneller  | 快 快的
    slow, slower      | langsam langsamer  | 慢 慢的
    nearest, nearest  | nächst nächst      | 最近 最近的
    free, freer       | frei freier        | 空 空
""")

FEELINGS = adjectives("""
    tired, more tired   | müde müder         | 累 累的
    hungry, hungrier    | hungrig hungriger  | 饿 饿的
    thirsty, thirstier  | durstig durstiger  | 渴 渴的
""")

WEATHER = adjectives("""
    cold, colder   | kalt kälter      | 冷 冷的
    warm, warmer   | warm wärmer      | 暖和 暖和的
    hot, hotter    | heiß heißer      | 热 热的
    cool, cooler   | kühl kühler      | 凉快 凉快的
""")

STATES = words("""
    broken       | kaputt                | 坏了
    ready        | fertig                | 好了
    sold out     | ausverkauft           | 卖完了
    fully booked | ausgebucht            | 订满了
    ill          | krank                 | 病了
    closed       | geschlossen           | 不开门
""")

ALLERGIES = words("""
    allergic to nuts | gegen Nüsse allergisch  | 对坚果过敏
    allergic to milk | gegen Milch allergisch  | 对牛奶过敏
    allergic to eggs | gegen Eier allergisch   | 对鸡蛋过敏
    allergic to fish | gegen Fisch allergisch  | 对鱼过敏
""")

AILMENTS = words("""
    a headache      | Kopfschmerzen   | 头疼
    a stomach ache  | Bauchschmerzen  | 肚子疼
    a toothache     | Zahnschmerzen   | 牙疼
    a sore throat   | Halsschmerzen   | 嗓子疼
    a fever         | Fieber          | 发烧
    a cough         | Husten          | 咳嗽
""")
