"""Names of people as they are written in several languages and scripts, for generated users.

Each locale has given names, family names, and the country code of its telephone numbers. The lists are in a fixed
order: generated users depend on it.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Locale:
    """What names of one language are made of."""

    given: tuple[str, ...]
    family: tuple[str, ...]
    country_code: str


def _locale(country_code: str, given: str, family: str) -> Locale:
    return Locale(tuple(given.split(",")), tuple(family.split(",")), country_code)


ENGLISH = _locale(
    "1",
    "James,Jane,Jacob,Jasmine,John,Mary,Margaret,Michael,Edward,Elizabeth,Oliver,Emily,George,Harriet,Robert,Ruth,Anna,Ann,"
    "Annabel,Siobhán,Seán,Zoë",
    "Smith,O'Brien,O’Connor,Johnson,Jackson,Taylor,Williams,Brown,Davies,Evans,MacDonald,St. John,Wright,Hughes,Clarke,"
    "Young,Fitz-Gerald,Brontë",
)
SPANISH = _locale(
    "34",
    "José,Juan,Julia,Carlos,Ximena,María José,Lucía,Sofía,Ángel,Íñigo,Óscar,Úrsula,Álvaro,Inés,Raúl,Nuño",
    "García,Gómez-Juárez-Álvarez,Rodríguez,Núñez,Muñoz,Ibáñez,Peña,Jiménez,Juárez,López de Ayala,Sánchez,Vázquez,Ruiz,"
    "Domínguez",
)
GERMAN = _locale(
    "49",
    "Jürgen,Johanna,Friedrich,Günther,Matthäus,Käthe,Ännchen,Björn,Klaus-Dieter,Änne,Heike,Sören,Ulrike,Wolfgang",
    "Müller,Schröder,Jäger,Jung,Weiß,Großmann,von der Heide,Köhler,Böhm,Vögel,Schäfer,Krüger,Lütke,Öztürk",
)
FRENCH = _locale(
    "33",
    "Jean-François,Jérôme,Camille,Geneviève,Éloïse,Françoise,Hélène,Benoît,Noël,Zoé,Étienne,Aurélie,Loïc,Maël",
    "Dupré,Lefèvre,d’Aubigné,Château,L'Écuyer,Bélanger,Côté,Gauthier,Hébert,Joly,Jacquet,Pérez,Saint-Exupéry,Œuvrard",
)
POLISH = _locale(
    "48",
    "Łukasz,Jakub,Jagoda,Agnieszka,Małgorzata,Żaneta,Wojciech,Świętosława,Bożena,Zdzisław,Ewa,Paweł",
    "Wiśniewski,Wójcik,Kowalczyk,Łuczak,Jabłoński,Jóźwiak,Zieliński,Dąbrowska,Żebrowski,Ćwiek,Śliwa,Krzyżanowski",
)
NORDIC = _locale(
    "47",
    "Åse,Bjørn,Jørgen,Jóhanna,Øyvind,Þórdís,Sigurður,Ægir,Märta,Göran,Kjærstin,Håkon",
    "Ødegård,Jónsdóttir,Þorsteinsson,Sørensen,Ångström,Bjørnstad,Gunnarsson,Jørgensen,Kvåle,Lindström,Næss,Ström",
)
TURKISH = _locale(
    "90",
    "İbrahim,Işıl,Gülşen,Çağlar,Şule,Oğuz,Jale,Ümit,Ayşe,Hüseyin",
    "Yılmaz,Çelik,Şahin,Özdemir,Gündoğdu,Kılıç,Işık,Ağaoğlu,Doğan,Türkoğlu",
)
VIETNAMESE = _locale(
    "84",
    "Thị Hồng,Văn Đức,Ngọc Ánh,Quỳnh,Phương,Đình Trọng,Mỹ Linh,Hữu Phước",
    "Nguyễn,Trần,Lê,Phạm,Đặng,Võ,Bùi,Đỗ",
)
RUSSIAN = _locale(
    "7",
    "Алёна,Борис,Владимир,Ёлка,Жанна,Игорь,Катерина,Лев,Наталья,Фёдор",
    "Иванов,Петрова,Семёнов,Королёва,Щербаков,Юрьев,Чайковский,Йованович,Ёлкин,Жукова",
)
GREEK = _locale(
    "30",
    "Άννα,Γιώργος,Ελένη,Ζωή,Ιωάννης,Κωνσταντίνος,Μαρία,Σωκράτης",
    "Παπαδόπουλος,Οικονόμου,Αθανασίου,Βλάχος,Δημητρίου,Ξενάκης,Ψαράς,Ωραιόπουλος",
)
ARABIC = _locale(
    "20",
    "أحمد,فاطمة,جميلة,خالد,ليلى,محمد,نور,يوسف",
    "الحسن,بن علي,حداد,الخطيب,السيد,عبد الرحمن,منصور,نجار",
)
HEBREW = _locale("972", "אורי,דוד,חנה,יעל,מרים,נועם,שירה,תמר", "כהן,לוי,מזרחי,פרץ,ביטון,אברהם,שפירא,בן־דוד")
HINDI = _locale(
    "91",
    "अनिता,आर्यन,जयंत,ज्योति,प्रिया,राहुल,सुनीता,विवेक",
    "शर्मा,वर्मा,गुप्ता,जैन,जोशी,सिंह,पटेल,मिश्रा",
)
THAI = _locale("66", "สมชาย,มาลี,นภา,ประเสริฐ,วิไล,กิตติ", "ใจดี,แสงทอง,ศรีสุข,วงศ์ไทย,บุญมี,ทองดี")
CHINESE = _locale("86", "伟,秀英,建国,静,丽,志强,小明,雪", "王,李,张,刘,陈,欧阳,司马,诸葛")
JAPANESE = _locale(
    "81", "さくら,太郎,花子,ケンジ,ゆうき,美咲,翔太,あかり", "佐藤,鈴木,高橋,田中,渡辺,伊藤,ジョンソン,小林"
)
KOREAN = _locale("82", "민준,서연,지우,하은,도윤,수빈,지훈,예진", "김,이,박,최,정,강,조,남궁")

LOCALES = (
    *(ENGLISH,) * 6,
    *(SPANISH,) * 3,
    *(GERMAN,) * 3,
    *(FRENCH,) * 3,
    *(POLISH,) * 2,
    *(NORDIC,) * 2,
    TURKISH,
    VIETNAMESE,
    *(RUSSIAN,) * 2,
    GREEK,
    ARABIC,
    HEBREW,
    HINDI,
    THAI,
    CHINESE,
    JAPANESE,
    KOREAN,
)
"""The locales as often as users of them are drawn."""
