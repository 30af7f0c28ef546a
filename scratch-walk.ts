import { randomUUID } from 'node:crypto'
import { send } from './test/harness/http.ts'
import { signIn } from './test/harness/sign-in.ts'
import { formOf, pdf } from './test/harness/form.ts'
const [url = '', ops = ''] = process.argv.slice(2)
const fake: any = {
  call: (m: string, p: string, c: any) => send(url, m, p, c),
  mailTo: async (to: string, template: string) => {
    for (let i = 0; i < 100; i++) {
      const mails = await (await fetch(`${ops}/mail.json`)).json()
      const found = mails.filter((x: any) => x.to === to && x.template === template).sort((a: any, b: any) => b.at.localeCompare(a.at))[0]
      if (found) return found
      await new Promise((r) => setTimeout(r, 50))
    }
    throw new Error('no mail')
  },
}
const owner = await signIn(fake), op = await signIn(fake, 'operator@demo.test'), ch = await signIn(fake, 'checker@demo.test')
const ws = '01990000-0000-7000-8000-000000000002', usd = '01990000-0000-7000-8000-000000000004', eur = '01990000-0000-7000-8000-000000000005', sav = '01990000-0000-7000-8000-000000000006'
let workspace = ws
const raw = (who: any, m: string, p: string, body?: unknown) => send(url, m, p, { token: who.accessToken, ...(p.includes('/consumer') && { workspace }), headers: { 'x-request-id': randomUUID() }, ...(body !== undefined && { body }) })
const web = async (m: string, p: string, body?: unknown) => { const a = await raw(owner, m, `/web/v1/consumer${p}`, body); return a.status === 200 ? a.body.data : `${a.status} ${a.body?.code}` }
let turn = 0
const sys = async (m: string, p: string, body?: unknown) => { const a = await raw(turn++ % 2 ? ch : op, m, `/web/v1/system${p}`, body); return a.status === 200 ? a.body.data : `${a.status} ${a.body?.code}` }
const seen = new Set<string>()
const steps = (o: any, f: string) => { const t = typeof o === 'string' ? o : o.statusHistory.map((s: any) => s.status.code).join(' → '); seen.add(`${f}: ${t}`); return t }
const pause = (ms: number) => new Promise((r) => setTimeout(r, ms))
const reason = { reason: 'walk' }
// transfers
const tr = (amount: string) => web('POST', '/transfer/command/create', { sourceWalletBizId: usd, targetWalletBizId: sav, amount, currency: 'USD' })
steps(await tr('1.00'), 'transfer')
let t = await tr('600.00'); await sys('POST', `/transfers/${t.bizId}/approve`); steps(await web('GET', `/transfer/query/orders/${t.bizId}`), 'transfer')
steps(await sys('POST', `/transfers/${t.bizId}/approve`), 'transfer approve twice')
t = await tr('600.00'); await sys('POST', `/transfers/${t.bizId}/reject`, reason); steps(await web('GET', `/transfer/query/orders/${t.bizId}`), 'transfer')
// quote + exchange
const q = () => web('POST', '/exchanges/quote', { sourceCurrency: 'USD', targetCurrency: 'EUR', amount: '10.00', fixedSide: 'SOURCE' })
const qs = async (id: string) => (await web('GET', `/exchanges/quote/${id}`)).quoteStatus.code
const q1 = await q(), q2 = await q()
seen.add(`quote: ${q1.quoteStatus.code}`)
steps(await web('POST', '/exchanges', { quoteBizId: q1.quoteBizId }), 'exchange'); seen.add(`quote: ${await qs(q1.quoteBizId)}`)
// recharges
const form = formOf([{ name: 'file', content: pdf(), fileName: 'r.pdf', type: 'application/pdf' }, { name: 'purpose', content: 'RECHARGE_PROOF' }])
const up = await send(url, 'POST', '/web/v1/consumer/files/upload', { token: owner.accessToken, workspace, headers: form.headers, body: form.body })
const fileBizId = up.body.data.bizId
const re = (channelCode = 'BANK_USD') => web('POST', '/recharges', { walletBizId: usd, channelCode, amount: '100.00' })
const rd = async (id: string) => steps(await web('GET', `/recharges/${id}`), 'recharge')
let r = await re(); await web('POST', `/recharges/${r.bizId}/proof`, { fileBizId }); await sys('POST', `/recharges/${r.bizId}/confirm`); await rd(r.bizId)
r = await re(); await web('POST', `/recharges/${r.bizId}/proof`, { fileBizId }); await sys('POST', `/recharges/${r.bizId}/reject`, reason); await rd(r.bizId)
r = await re(); await web('POST', `/recharges/${r.bizId}/cancel`, { cancelReason: 'x' }); await rd(r.bizId)
r = await re('CARD_USD'); await sys('POST', `/recharges/${r.bizId}/confirm`); await rd(r.bizId)
const late = await re()
// channels + withdrawals
const n = () => String(Math.floor(Math.random() * 1e12))
const mk = () => web('POST', '/withdrawal-channels', { channelType: 'BANK', currency: 'USD', country: 'DE', accountHolderName: 'A', bankCode: 'X', accountNumber: `DE${n()}` })
const c1 = await mk(), c2 = await mk()
seen.add(`channel: ${c1.channelStatus.code}`)
seen.add(`channel: ${(await sys('POST', `/withdrawal-channels/${c1.bizId}/verify`)).channelStatus.code}`)
seen.add(`channel: ${(await sys('POST', `/withdrawal-channels/${c2.bizId}/reject`, reason)).channelStatus.code}`)
const wd = () => web('POST', '/withdrawals', { walletBizId: usd, withdrawalChannelBizId: c1.bizId, amount: '50.00' })
const wr = async (id: string) => steps(await web('GET', `/withdrawals/${id}`), 'withdrawal')
let w = await wd(); await sys('POST', `/withdrawals/${w.bizId}/approve`); await sys('POST', `/withdrawals/${w.bizId}/complete`); await wr(w.bizId)
w = await wd(); await sys('POST', `/withdrawals/${w.bizId}/approve`); await sys('POST', `/withdrawals/${w.bizId}/fail`, reason); await wr(w.bizId)
w = await wd(); await sys('POST', `/withdrawals/${w.bizId}/reject`, reason); await wr(w.bizId)
w = await wd(); await web('POST', `/withdrawals/${w.bizId}/cancel`); await wr(w.bizId)
w = await wd(); await sys('POST', `/withdrawals/${w.bizId}/approve`); steps(await web('POST', `/withdrawals/${w.bizId}/cancel`), 'withdrawal cancel in PROCESSING'); await sys('POST', `/withdrawals/${w.bizId}/complete`)
seen.add(`channel: ${(await sys('POST', `/withdrawal-channels/${c1.bizId}/reject`, reason)).channelStatus.code}`)
steps(await wd(), 'withdrawal to a disabled channel')
// wallets
const wl = async (verb: string, id = sav) => { const x = await sys('POST', `/wallets/${id}/${verb}`, reason); return seen.add(`wallet ${verb}: ${x.walletStatus?.code ?? x}`) }
await wl('close'); await wl('freeze'); await wl('close'); steps(await tr('1.00'), 'transfer to frozen'); await wl('unfreeze')
const bal = (await web('GET', `/wallets/${sav}/balance`)).availableBalance
steps(await web('POST', '/transfer/command/create', { sourceWalletBizId: sav, targetWalletBizId: usd, amount: bal, currency: 'USD' }), 'transfer all back (needs approval)')
const pend = (await sys('GET', '/transfers/pending')).items[0]; if (pend) await sys('POST', `/transfers/${pend.bizId}/approve`)
await wl('freeze'); await wl('close'); await wl('unfreeze'); steps(await tr('1.00'), 'transfer to closed')
await pause(3500)
seen.add(`quote: ${await qs(q2.quoteBizId)}`); await rd(late.bizId); seen.add(`late recharge version ${(await web('GET', `/recharges/${late.bizId}`)).version}`)
seen.add(`invariants ${(await sys('GET', '/ledger/invariants')).holds}`)
seen.add(`metrics ${/portico_ledger_discrepancies [0-9]+/.exec(await (await fetch(`${ops}/metrics`)).text())?.[0]}`)
seen.add(`ready ${(await fetch(`${ops}/health/ready`)).status}`)
console.log([...seen].join('\n'))
