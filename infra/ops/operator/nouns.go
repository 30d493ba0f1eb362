package operator

import (
	"flashsale/infra/ops/cli"
)

func nouns() []noun {
	changing := []verb{{
		use: "list", short: "Every sale with its state and its last audit", example: "flashsale sale list --group shoe\nflashsale sale list -o csv >sales.csv",
		flags: "group", forms: []string{cli.JSON, cli.CSV}, run: sales,
	}, {
		use: "show SALE", short: "How one sale stands, and who changed it last", example: "flashsale sale show moutai", forms: []string{cli.JSON}, run: showSale,
	}, createVerb, exportVerb}
	for _, c := range changes {
		changing = append(changing, c.verb())
	}
	return []noun{
		{name: "sale", short: "List, show and change sales", group: cli.During.ID, function: true, verbs: changing},
		{name: "order", short: "List, follow and cancel orders, and send lost messages again", group: cli.During.ID, verbs: []verb{{
			use: "list SALE", short: "Every order of a sale", example: "flashsale order list --sale moutai --state paid\nflashsale order list --group shoe -o csv >orders.csv",
			flags: "state", forms: []string{cli.JSON, cli.CSV}, joins: true, again: "the list is not complete: repeat the command", run: listOrders,
		}, {
			use: "show [ORDER]", short: "What happened to an order, and what support may say",
			example: "flashsale order show 523415642750058497\nflashsale order show --sale moutai --buyer alice", flags: "sale buyer", forms: []string{cli.JSON}, run: showOrder,
		}, {
			use: "cancel ORDER", short: "Cancel one order permanently, paid or not", example: "flashsale order cancel 523415642750058497 --note 'the buyer has moved'",
			flags: "sale unit note id dry-run", forms: []string{cli.JSON}, one: true, asks: true, run: cancelOrder,
		}, {
			use: "resend SALE", short: "Send lost order messages again, 5,000 at most", example: "flashsale order resend --sale moutai",
			flags: "dry-run", forms: []string{cli.JSON}, run: resend,
		}}},
		{name: "buyer", short: "Show and erase what is held of a buyer", group: cli.During.ID, verbs: []verb{{
			use: "show BUYER", short: "Everything that the table holds of a buyer, in all sales", example: "flashsale buyer show alice -o json", forms: []string{cli.JSON},
			again: "the answer is not complete: repeat the command", run: showBuyer,
		}, {
			use: "erase BUYER", short: "Put random ids in a buyer's place, once their sales are over", example: "flashsale buyer erase alice --dry-run\nflashsale buyer erase alice",
			flags: "dry-run", asks: true, again: "repeat the command: it erases what is left", run: erase,
		}}},
		{name: "draw", short: "Show and verify draws", group: cli.During.ID, function: true, verbs: []verb{{
			use: "show SALE", short: "How a draw stands, and what to publish elsewhere", example: "flashsale draw show moutai", run: showDraw,
		}, {
			use: "called SALE", short: "Whom the running call calls", example: "flashsale draw called moutai -o csv >called.csv", forms: []string{cli.JSON, cli.CSV}, joins: true,
			again: "the list is not complete: repeat the command", run: listCalled,
		}, {
			use: "verify SALE", short: "Check a draw from what everybody can read",
			example: "flashsale draw verify moutai --url https://shop.example.com\nflashsale draw verify moutai --buyer alice --nonce 5e0f…", flags: "buyer nonce roll round", run: verifyDraw,
		}}},
		{name: "queue", short: "Look at dead letters, and move them back", group: cli.During.ID, verbs: []verb{{
			use: "show", short: "What is in the dead-letter queue, and why", example: "flashsale queue show", run: showQueue,
		}, {
			use: "redrive", short: "Move what is pending back to the order queue, and delete what is done", example: "flashsale queue redrive --dry-run\nflashsale queue redrive --drop-poison",
			flags: "drop-poison dry-run", asks: true, again: "what was moved is moved: repeat the command for the others", run: redrive,
		}}},
		{name: "refund", short: "List payments that must go back, send them, and mark those that have", group: cli.During.ID, verbs: []verb{{
			use: "list [SALE]", short: "The payments that must go back to a buyer", example: "flashsale refund list --sale moutai\nflashsale refund list --sale moutai --for wechat-pay",
			flags: "for", forms: []string{cli.JSON, cli.CSV}, joins: true, again: "the list is not complete: repeat the command", run: listRefunds,
		}, {
			use: "send [SALE]", short: "Have the stack give back what is due, as its providers accept it",
			example: "flashsale refund send moutai --dry-run\nflashsale refund send --group shoe --note 'the soles come off'\nflashsale refund send --payment 'stripe#pi_1'",
			flags:   "payment note dry-run", asWhole: true, asks: true, again: "it may have begun: flashsale refund sendings lists it then", run: sendRefunds,
		}, {
			use: "sendings", short: "What was asked to be sent, and how far it has come", example: "flashsale refund sendings", forms: []string{cli.JSON, cli.CSV}, run: listSendings,
		}, {
			use: "stop SENDING", short: "Send nothing more of a sending; what was sent stays so", example: "flashsale refund stop '2026-11-11T14:02:00.000Z#KZ3RMBXO'",
			again: "repeat the command", run: stopSending,
		}, {
			use: "mark [PAYMENT]", short: "Mark payments as refunded, each once; it moves no money",
			example: "flashsale refund mark 'stripe#pi_1' --sale moutai\nflashsale refund mark --file refunded.csv --group shoe",
			flags:   "sale file dry-run", asWhole: true, asks: true, again: "repeat the command: it marks a refund once", run: mark,
		}, {
			use: "unmark PAYMENT", short: "Take the wrong mark of a refund back: it is due again",
			example: "flashsale refund unmark 'stripe#pi_1' --note 'paid back the other one'",
			flags:   "sale note dry-run", asks: true, again: "repeat the command", run: unmark,
		}}},
		{name: "payment", short: "Record a payment whose webhook never came", group: cli.During.ID, verbs: []verb{{
			use: "record", short: "Show what a payment is for, and record it, once",
			example: "flashsale payment record --provider stripe --sale moutai --order 523415642750058497 --payment pi_1 --amount 89900 --currency CNY",
			flags:   "provider sale order payment amount currency dry-run", needs: "sale", one: true, asks: true, again: "repeat the command: it records a payment once", run: record,
		}}},
		{name: "books", short: "Recount sales, and archive them", group: cli.After.ID, verbs: []verb{{
			use: "list", short: "The sales as the table itself lists them", example: "flashsale books list", forms: []string{cli.JSON, cli.CSV}, run: listBooks,
		}, {
			use: "receipt [SALE]", short: "Recount a sale from its items", example: "flashsale books receipt moutai\nflashsale books receipt --all --full --events events.jsonl",
			flags: "all full events", forms: []string{cli.JSON}, joins: true, again: "repeat the command", run: receipt,
		}, {
			use: "archive SALE", short: "Write a sale that has been over for 90 days to a file", example: "flashsale books archive moutai --file moutai.jsonl", flags: "file dry-run",
			again: "nothing was archived: repeat the command", run: archive,
		}, {
			use: "prune SALE", short: "Delete the claims and orders that an archive has", example: "flashsale books prune moutai --file moutai.jsonl", flags: "file dry-run", asks: true,
			again: "repeat the command with the same file: it deletes what is left", run: prune,
		}}},
		{name: "event", short: "Publish events again, and try a receiver of them", group: cli.After.ID, verbs: []verb{{
			use: "send", short: "Send test events, or those of an order, to a receiver, each once",
			example: "flashsale event send --to http://127.0.0.1:8080/orders --type OrderPaid\nflashsale event send --to https://shop.example/orders --order 523415642750058497",
			flags:   "to order type", again: "repeat the command: who has an event ignores it", run: sendEvents, one: true,
		}, {
			use: "republish [SALE]", short: "Publish every event of a sale again, under the same ids", example: "flashsale event republish --sale moutai\nflashsale event republish --unknown",
			flags: "unknown bus dry-run", again: "repeat the command: who has an event ignores it", run: republish,
		}}},
		{name: "table", short: "Bring a restored table up to date", group: cli.After.ID, verbs: []verb{{
			use: "check", short: "What a restored table lacks of what was logged and published",
			example: "flashsale table check --table restored --at 2026-11-11T12:04:00Z --log log --events events.jsonl", flags: "at log events", again: "repeat the command", run: checkTable,
		}, {
			use: "replay", short: "Write what a restored table lacks",
			example: "flashsale table replay --table restored --at 2026-11-11T12:04:00Z --log log --events events.jsonl", flags: "at log events dry-run", asks: true,
			again: "repeat the command: it goes on", run: replayTable,
		}}},
	}
}
