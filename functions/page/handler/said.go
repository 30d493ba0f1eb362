package handler

import (
	"html/template"
	"slices"

	"flashsale/shared/language"
)

// said is what the HTML says in one of the page's languages. The rest is said by the scripts, in the words of
// assets/words-TAG.js.
type said struct {
	Tag         string // of BCP 47, as in `lang` and in the names of files
	Title       string // of a page that does not know what it sells
	Description string // for link previews and search engines
	Loading     string
	Old         template.HTML // for a browser that cannot run the scripts
}

// Dir is the direction of the script, for `dir`.
func (s said) Dir() string {
	if language.IsRightToLeft(s.Tag) {
		return "rtl"
	}
	return "ltr"
}

// Words is the name of the file with the words.
func (s said) Words() string { return "words-" + s.Tag + ".js" }

var texts = []said{
	{
		"en", "Flash sale",
		"See when this flash sale opens, and order one.", "Loading the sale …",
		`If the sale does not appear, <a href="">try again</a>. The page needs JavaScript and Chrome ` +
			`96, Firefox 94, Safari 15 or later.`,
	},
	{
		"zh-CN", "限时抢购",
		"查看这场限时抢购的开始时间，准时下单。", "正在加载活动……",
		`如果活动没有显示，请<a href="">重试</a>。本页面需要 JavaScript 和 Chrome 96、Firefox 94、Safari 15 或更高版本。`,
	},
	{
		"zh-TW", "限時搶購",
		"查看這場限時搶購的開始時間，準時下單。", "正在載入活動……",
		`如果活動沒有顯示，請<a href="">重試</a>。本頁面需要 JavaScript 和 Chrome 96、Firefox 94、Safari 15 或更新版本。`,
	},
	{
		"ja", "フラッシュセール",
		"このフラッシュセールの開始日時を確認して、注文できます。", "セールを読み込んでいます…",
		`セールが表示されない場合は、<a href="">もう一度お試しください</a>。JavaScript と、Chrome 96、Firefox 94、Safari 15 以降が必要です。`,
	},
	{
		"ko", "한정 판매",
		"이 한정 판매가 언제 시작되는지 확인하고 주문하세요.", "판매 정보를 불러오는 중…",
		`판매가 표시되지 않으면 <a href="">다시 시도</a>해 주세요. JavaScript와 Chrome 96, Firefox 94, Safari 15 이상이 필요합니다.`,
	},
	{
		"de", "Blitzverkauf",
		"Sehen Sie, wann dieser Blitzverkauf beginnt, und bestellen Sie.", "Der Verkauf wird geladen …",
		`Erscheint der Verkauf nicht, <a href="">versuchen Sie es erneut</a>. Die Seite braucht ` +
			`JavaScript und Chrome 96, Firefox 94, Safari 15 oder neuer.`,
	},
	{
		"fr", "Vente flash",
		"Découvrez quand ouvre cette vente flash, et commandez.", "Chargement de la vente…",
		`Si la vente n’apparaît pas, <a href="">réessayez</a>. La page nécessite JavaScript et Chrome ` +
			`96, Firefox 94, Safari 15 ou plus récent.`,
	},
	{
		"es", "Venta flash",
		"Mira cuándo empieza esta venta flash y haz tu pedido.", "Cargando la venta…",
		`Si la venta no aparece, <a href="">inténtalo de nuevo</a>. La página necesita JavaScript y ` +
			`Chrome 96, Firefox 94, Safari 15 o posterior.`,
	},
	{
		"pt-BR", "Venda relâmpago",
		"Veja quando começa esta venda relâmpago e faça seu pedido.", "Carregando a venda…",
		`Se a venda não aparecer, <a href="">tente de novo</a>. A página precisa de JavaScript e do ` +
			`Chrome 96, Firefox 94, Safari 15 ou mais recente.`,
	},
	{
		"it", "Vendita lampo",
		"Scopri quando inizia questa vendita lampo e ordina.", "Caricamento della vendita…",
		`Se la vendita non appare, <a href="">riprova</a>. La pagina richiede JavaScript e Chrome 96, ` +
			`Firefox 94, Safari 15 o successivo.`,
	},
	{
		"nl", "Flitsverkoop",
		"Bekijk wanneer deze flitsverkoop begint en bestel.", "De verkoop wordt geladen…",
		`Verschijnt de verkoop niet, <a href="">probeer het dan opnieuw</a>. De pagina heeft JavaScript ` +
			`nodig en Chrome 96, Firefox 94, Safari 15 of nieuwer.`,
	},
	{
		"pl", "Błyskawiczna wyprzedaż",
		"Zobacz, kiedy zaczyna się ta błyskawiczna wyprzedaż, i złóż zamówienie.", "Ładowanie sprzedaży…",
		`Jeśli sprzedaż się nie pojawia, <a href="">spróbuj ponownie</a>. Strona wymaga JavaScriptu ` +
			`oraz przeglądarki Chrome 96, Firefox 94, Safari 15 lub nowszej.`,
	},
	{
		"tr", "Flaş satış",
		"Bu flaş satışın ne zaman başladığını görün ve sipariş verin.", "Satış yükleniyor…",
		`Satış görünmezse <a href="">yeniden deneyin</a>. Sayfa için JavaScript ile Chrome 96, Firefox ` +
			`94, Safari 15 veya daha yenisi gerekir.`,
	},
	{
		"ar", "تخفيضات خاطفة",
		"اعرف متى تبدأ هذه التخفيضات الخاطفة، واطلب قطعة.", "جارٍ تحميل العرض…",
		`إذا لم يظهر العرض <a href="">فحاول مجددًا</a>. تتطلب الصفحة JavaScript وChrome 96 أو Firefox ` +
			`94 أو Safari 15 أو أحدث.`,
	},
	{
		"id", "Flash sale",
		"Lihat kapan flash sale ini dibuka, lalu pesan.", "Memuat penjualan…",
		`Jika penjualan tidak muncul, <a href="">coba lagi</a>. Halaman ini memerlukan JavaScript dan ` +
			`Chrome 96, Firefox 94, Safari 15 atau yang lebih baru.`,
	},
	{
		"th", "แฟลชเซลล์",
		"ดูว่าแฟลชเซลล์นี้เปิดเมื่อใด แล้วสั่งซื้อ", "กำลังโหลดรายการขาย…",
		`หากรายการขายไม่ปรากฏ โปรด<a href="">ลองใหม่</a> หน้านี้ต้องใช้ JavaScript และ Chrome 96, ` +
			`Firefox 94, Safari 15 หรือใหม่กว่า`,
	},
	{
		"vi", "Flash sale",
		"Xem khi nào flash sale này mở và đặt hàng.", "Đang tải đợt bán…",
		`Nếu đợt bán không hiện ra, hãy <a href="">thử lại</a>. Trang này cần JavaScript và Chrome 96, ` +
			`Firefox 94, Safari 15 trở lên.`,
	},
}

// saidIn returns what the HTML says in the language of an Accept-Language. The scripts choose again, by
// navigator.languages, and have the last word: a cache or an app may have sent another header than the browser's.
func saidIn(accept string) said {
	tag := language.Choose(accept)
	return texts[slices.IndexFunc(texts, func(s said) bool { return s.Tag == tag })]
}
