// The live view: shows what the feed sends and posts what the buttons ask for. All text
// from the system goes through textContent.
const at = '/_local/live/'
const $ = (id) => document.getElementById(id)
const count = new Intl.NumberFormat('en')
let chosen = new URLSearchParams(location.search).get('sale') || ''
let shown = '' // the sale on display
let feed
let rush = '' // the reader's own: 'sent', then 'running' once the feed shows it

const make = (name, text = '', set = {}) => Object.assign(document.createElement(name), { textContent: text }, set)
const say = (id, value) => { const s = String(value); if ($(id).textContent !== s) $(id).textContent = s }
const number = (n) => count.format(n)
const ms = (n) => n < 10 ? n.toFixed(1) + ' ms' : n < 1000 ? Math.round(n) + ' ms' : (n / 1000).toFixed(1) + ' s'

// fill makes a list have as many children as there are items, and shows each item in its own.
function fill(list, items, create, show) {
  while (list.children.length > items.length) list.lastChild.remove()
  while (list.children.length < items.length) list.append(create())
  items.forEach((item, i) => show(list.children[i], item, i))
}

function problem(text) {
  $('problem').hidden = !text
  say('problem', text || '')
}

function showSales(sales) {
  const all = sales.includes(shown) || !shown ? sales : [shown, ...sales]
  if ([...$('sale').options].map((o) => o.value).join() !== all.join()) {
    $('sale').replaceChildren(...all.map((id) => make('option', id, { value: id })))
  }
  $('sale').value = shown
}

function showStock(sale) {
  say('left', number(sale.left))
  say('seeded', number(sale.seeded))
  $('shards').classList.toggle('many', sale.shards.length > 12)
  fill($('shards'), sale.shards, () => {
    const li = make('li')
    const tank = make('div', '', { className: 'tank', ariaHidden: 'true' })
    tank.append(make('div'))
    li.append(tank, make('b'), ' ', make('span'))
    return li
  }, (li, shard, i) => {
    const [tank, left, text] = li.children
    tank.firstChild.style.height = (shard.seeded ? 100 * shard.left / shard.seeded : 0) + '%'
    tank.classList.toggle('empty', shard.left === 0)
    left.textContent = number(shard.left)
    text.textContent = `of ${number(shard.seeded)} in shard ${i}`
  })
  if (sale.moreShards) say('left', number(sale.left) + ` (${sale.moreShards} more shards are not drawn)`)
}

function showDraw(draw) {
  $('draw').hidden = !draw
  if (!draw) return
  const time = (at) => new Date(at).toLocaleTimeString('en-GB')
  say('draw', `Draw: ${draw.phase}${draw.until ? ` until ${time(draw.until)}` : ''}. ${number(draw.entrants)} on the roll.` +
    (draw.call ? ` Call ${draw.call}, from ${time(draw.from)}: ${number(draw.kept)} units kept, ${number(draw.bought)} bought.` : ''))
}

const meanings = {
  accepted: 'accepted', 'sold-out': 'sold out', 'already-ordered': 'already ordered', busy: 'busy, try again',
  'sale-paused': 'paused, try again', 'too-many-requests': 'too many of one buyer',
}

function showAnswers(purchases, crowd) {
  const answers = Object.entries(purchases.answers).sort((a, b) => b[1] - a[1])
  fill($('answers'), answers.length ? answers : [['none yet', 0]], () => {
    const li = make('li')
    li.append(make('b'), ' ', make('span'))
    return li
  }, (li, [code, n]) => {
    li.firstChild.textContent = number(n)
    li.lastChild.textContent = meanings[code] || code
  })
  fill($('lines'), ['accepted', 'refused', 'busy'], () => {
    const li = make('li')
    li.append(make('span'), make('div', '', { ariaHidden: 'true' }))
    return li
  }, (li, line) => {
    const counts = purchases[line]
    const most = Math.max(...counts)
    const [says, bars] = li.children
    bars.className = line
    says.textContent = `${number(counts.reduce((sum, n) => sum + n))} ${line}${most ? `, at most ${number(most)} in a second` : ''}`
    fill(bars, counts, () => make('i'), (bar, n) => { bar.style.height = (most && 100 * n / most) + '%' })
  })
  say('p50', purchases.count ? ms(purchases.p50Ms) : '–')
  say('p99', purchases.count ? ms(purchases.p99Ms) : '–')
  if (!crowd) return
  let text = crowd.signedIn < crowd.buyers ? `The crowd signs in: ${number(crowd.signedIn)} of ${number(crowd.buyers)}.`
    : `The crowd: ${number(crowd.answered)} of ${number(crowd.clicks)} clicks have their final answer; ${number(crowd.winners)} buyers got a unit, ` +
      `${number(crowd.soldOut)} clicks came too late, ${number(crowd.alreadyOrdered)} were repeats of a buyer who had one` +
      (crowd.gaveUp ? `, ${number(crowd.gaveUp)} gave up.` : '.')
  if (crowd.problem) text += ' It ended early: ' + crowd.problem
  say('crowd', text)
}

// showEnd replaces what was said when the reader's own rush began.
function showEnd(crowd) {
  if (rush && crowd?.running) rush = 'running'
  if (rush !== 'running' || crowd?.running) return
  rush = ''
  say('said', `The rush is over: ${number(crowd.winners)} of ${number(crowd.buyers)} buyers got a unit.`)
}

function showOrders(snapshot) {
  const { sale, queue, dead } = snapshot
  say('waiting', number(queue.waiting))
  say('in-flight', number(queue.inFlight))
  say('dead', number(dead.waiting + dead.inFlight))
  say('pending', number(sale.pending))
  for (const state of ['confirmed', 'paid', 'expired', 'cancelled']) say(state, number(sale[state]))
  for (const li of document.querySelectorAll('.settled')) li.hidden = !(sale.paid + sale.expired + sale.cancelled)
  $('partial').hidden = !sale.partial
  $('latest').hidden = !sale.orders.length
  fill($('orders'), sale.orders, () => {
    const tr = make('tr')
    tr.append(make('td'), make('td'), make('td'))
    return tr
  }, (tr, order) => {
    const [user, shard, id] = tr.children
    user.textContent = user.title = order.user
    shard.textContent = order.shard
    const state = order.state.toLowerCase()
    id.textContent = !order.orderId ? state : state === 'confirmed' ? order.orderId : `${order.orderId} ${state}`
    id.className = order.orderId ? '' : 'waiting'
  })
}

function showEvents(events) {
  $('events').hidden = !events
  if (!events) return
  const counts = Object.entries(events.counts).sort()
  fill($('event-counts'), counts.length ? counts : [['none yet', 0]], () => {
    const li = make('li')
    li.append(make('b'), ' ', make('span'))
    return li
  }, (li, [type, n]) => {
    li.firstChild.textContent = number(n)
    li.lastChild.textContent = type
  })
  $('event-latest').hidden = !events.latest.length
  fill($('event-lines'), events.latest, () => {
    const tr = make('tr')
    tr.append(make('td'), make('td'), make('td'), make('td'))
    return tr
  }, (tr, event) => {
    const texts = [event.type, event.saleId, event.orderId || '–', event.user || '–']
    texts.forEach((text, i) => { tr.children[i].textContent = tr.children[i].title = text })
  })
}

function showReceipt(receipt, sale) {
  const verdict = $('verdict')
  if (!receipt || receipt.problem) {
    verdict.className = 'badge'
    say('verdict', receipt ? 'not counted' : 'counting')
    say('equation', receipt ? receipt.problem : '')
    $('findings').replaceChildren()
    return
  }
  const old = receipt.seeded !== sale.seeded || receipt.stock !== sale.left || receipt.pending !== sale.pending
  verdict.className = 'badge ' + (receipt.balanced ? old ? '' : 'good' : 'bad')
  say('verdict', !receipt.balanced ? 'does not balance' : old ? 'counted earlier' : receipt.pending ? 'balanced, orders pending' : 'ok: balanced')
  const sold = (receipt.units ?? receipt.claims) - (receipt.released ?? 0)
  const returning = receipt.seeded - receipt.stock - sold // released, and not put back yet
  say('equation', `${number(receipt.stock)} left + ${number(sold)} sold ${receipt.released && returning > 0 ? `+ ${number(returning)} coming back ` : ''}= ${number(receipt.seeded)} units; ` +
    `${number(receipt.confirmed)} orders confirmed, ${number(receipt.pending)} pending. As of ${new Date(receipt.asOf).toLocaleTimeString('en-GB')}.`)
  fill($('findings'), [...receipt.findings, ...receipt.unfinished.map((u) => 'Not finished: ' + u)], () => make('li'),
    (li, text) => { li.textContent = text })
}

function showAccidents(accidents, broken) {
  fill($('accidents'), accidents, () => {
    const li = make('li')
    li.append(make('button', '', { type: 'button' }), make('p'))
    return li
  }, (li, accident) => {
    const [button, text] = li.children
    if (button.id !== 'break-' + accident.id) {
      button.id = 'break-' + accident.id
      text.id = 'expect-' + accident.id
      button.setAttribute('aria-describedby', text.id)
      button.textContent = accident.name
      text.textContent = accident.expect
      button.addEventListener('click', () => act('break', { accident: accident.id }))
    }
    button.setAttribute('aria-pressed', String(broken?.id === accident.id))
  })
  $('accident').hidden = !broken
  say('accident', broken ? `Broken on purpose: ${broken.name}. ${broken.expect}` : '')
  $('heal').disabled = !broken
  $('broken').className = broken ? 'bad' : ''
  const met = Object.entries(broken?.met || {}).filter(([kind]) => kind !== 'calls').map(([kind, n]) => `${number(n)} ${kind}`)
  say('broken', broken ? `Broken since ${new Date(broken.since).toLocaleTimeString('en-GB')}${met.length ? ': ' + met.join(', ') : ''}.` : 'Nothing is broken.')
}

function show(snapshot) {
  problem(snapshot.problem ? 'The view cannot read everything: ' + snapshot.problem : '')
  showAccidents(snapshot.accidents, snapshot.broken)
  showEvents(snapshot.events)
  const { sale } = snapshot
  shown = sale?.id || shown
  showSales(snapshot.sales)
  $('rush').disabled = !sale || !!snapshot.crowd?.running
  if (!sale) {
    if (!snapshot.problem) problem('There is no open sale yet.')
    return
  }
  showSale(snapshot)
  $('main').hidden = false // all at once, so that nothing is moved
}

function showSale(snapshot) {
  const { sale } = snapshot
  say('name', sale.name)
  say('state', sale.state)
  $('state').className = 'badge ' + (sale.state === 'open' ? 'good' : 'bad')
  $('buyers-page').href = '/s/' + encodeURIComponent(sale.id)
  $('pause').disabled = sale.state === 'paused'
  $('resume').disabled = sale.state !== 'paused'
  showStock(sale)
  showDraw(sale.draw)
  showAnswers(snapshot.purchases, snapshot.crowd)
  showEnd(snapshot.crowd)
  showOrders(snapshot)
  showReceipt(snapshot.receipt, sale)
}

async function act(name, more = {}) {
  let text = 'The stack does not answer.'
  let ok = false
  try {
    const response = await fetch(at + name, {
      method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ sale: shown, ...more }),
    })
    text = (await response.json()).says
    ok = response.ok
  } catch { /* the text says so */ }
  rush = name === 'rush' && ok ? 'sent' : ''
  $('said').className = ok ? '' : 'no'
  say('said', text)
}

function follow() {
  feed?.close()
  feed = new EventSource(at + 'feed' + (chosen ? '?sale=' + encodeURIComponent(chosen) : ''))
  feed.onmessage = (event) => show(JSON.parse(event.data))
  feed.onerror = () => {
    problem('The stack does not answer; the page tries again.')
    if (feed.readyState === EventSource.CLOSED) setTimeout(follow, 5000)
  }
}

$('sale').addEventListener('change', () => {
  chosen = shown = $('sale').value
  history.replaceState(null, '', '?sale=' + encodeURIComponent(chosen))
  follow()
})
$('buy').addEventListener('submit', (event) => {
  event.preventDefault()
  act('buy', { user: $('user').value })
})
document.querySelectorAll('[data-act]').forEach((b) => b.addEventListener('click', () => act(b.dataset.act)))
follow()
