import { inTransaction, sqlState } from '../../database/index.ts'
import {
  type AccountId,
  addMs,
  areWithin,
  bizId,
  type Clock,
  type Ids,
  type Instant,
  invalid,
  notFound,
  Refusal,
  type WorkspaceId,
} from '../../kernel/index.ts'
import {
  type Acting,
  type Entry,
  feeEntries,
  feeParties,
  type Ledger,
  type NewOrder,
  type Order,
  type Party,
  signedBy,
} from '../../ledger/index.ts'
import { type Act, recordAct } from '../../platform/audit/index.ts'
import type { FixedSide } from './contract.ts'
import { figuresIn, type QuoteSeen, stored } from './exchange.ts'
import { type RateSources, rateFor, unkeptSide } from './rates.ts'
import { type ExchangeTerms, type Figures, figuresOf } from './rules.ts'
import { insertQuote, type Quote, type QuoteId, readQuote, type SetRate, saveRate } from './store.ts'

export interface ExchangesPorts extends RateSources {
  ledger: Ledger
  clock: Clock
  ids: Ids
  terms: ExchangeTerms
}

export interface Asked {
  sourceCurrency: string
  targetCurrency: string
  amount: string
  fixedSide: FixedSide
}

const defaultWallet = async ({ ledger }: ExchangesPorts, workspace: WorkspaceId, currency: string) => {
  const wallet = await ledger.readDefaultWallet({ workspace, currency })
  if (!wallet) throw notFound(`no wallet in ${currency}`)
  if (wallet.status !== 'ACTIVE')
    throw new Refusal('WALLET.NOT_ACTIVE', { internal: `the wallet in ${currency} is ${wallet.status}` })
  return wallet.bizId
}

/** Fixes the figures for a while; nothing moves yet. */
export const quote = async (
  ports: ExchangesPorts,
  asked: Asked,
  by: { actor: AccountId; workspace: WorkspaceId },
): Promise<{ quote: Quote; figures: Figures }> => {
  const { clock, ids, terms } = ports
  const { actor, workspace } = by
  const sourceWallet = await defaultWallet(ports, workspace, asked.sourceCurrency)
  const targetWallet = await defaultWallet(ports, workspace, asked.targetCurrency)
  const rate = await rateFor(ports, asked.sourceCurrency, asked.targetCurrency)
  if (!rate) throw new Refusal('EXCHANGE.RATE_UNAVAILABLE', { internal: 'no rate that is fresh' })
  // Who says what a currency is worth and deals at that could take whatever the house has.
  if (rate.setBy !== null && (await ports.ledger.isSamePerson(rate.setBy, actor)))
    throw new Refusal('ACCESS.PERMISSION_DENIED', { internal: 'nobody deals at a rate that they set' })
  const figures = figuresOf(asked, rate.mid, terms)
  const createdAt = clock.now()
  const made: Quote = {
    id: ids.next<'quote'>(),
    workspace,
    sourceWallet,
    targetWallet,
    figures: stored(figures),
    createdBy: actor,
    createdAt,
    expiresAt: addMs(createdAt, terms.quoteLifeMs),
  }
  await insertQuote(ports.database, made)
  return { quote: made, figures }
}

/** Whether it is within its time, as far as that is ours to say: a clock that is set back gives it no more. */
const isOpen = ({ createdAt, expiresAt }: Pick<Quote, 'createdAt' | 'expiresAt'>, now: Instant): boolean =>
  expiresAt > now && areWithin(expiresAt - createdAt, createdAt, now)

/** A quote as it stands now. Used stays used, whatever the time. */
export const findQuote = async (
  { database, clock }: Pick<ExchangesPorts, 'database' | 'clock'>,
  id: QuoteId,
  workspace: WorkspaceId,
): Promise<QuoteSeen> => {
  const found = await readQuote(database, { id, workspace })
  if (!found) throw notFound('no such quote')
  const unused = isOpen(found, clock.now()) ? 'OPEN' : 'EXPIRED'
  const status = found.order === null ? unused : 'USED'
  return { id, figures: figuresIn(found.figures), expiresAt: found.expiresAt, status }
}

const exchangeOrder = (id: QuoteId, workspace: WorkspaceId, figures: Figures): NewOrder => ({
  workspace,
  type: 'EXCHANGE',
  data: { ...stored(figures), quoteBizId: id, failureCode: null },
  steps: [{ status: 'PROCESSING' }, { status: 'COMPLETED' }],
})

/** The customer's two wallets against the house's liquidity in either currency. */
const entriesOf = ({ source, target, fee }: Figures): Entry[] => [
  { account: 'source', amount: -source.minor, flowType: 'EXCHANGE' },
  { account: 'taken', amount: source.minor, flowType: 'EXCHANGE' },
  { account: 'given', amount: -target.minor, flowType: 'EXCHANGE' },
  { account: 'target', amount: target.minor, flowType: 'EXCHANGE' },
  ...feeEntries('source', fee),
]

const housesOf = ({ source, target, fee }: Figures): Party[] => [
  { label: 'taken', house: 'LIQUIDITY', currency: source.currency, short: 'SYSTEM.INTERNAL_ERROR' },
  { label: 'given', house: 'LIQUIDITY', currency: target.currency, short: 'EXCHANGE.RATE_UNAVAILABLE' },
  ...feeParties(fee),
]

/** SQLSTATE of the trigger in schema.ts: the quote is spent, expired, or has other figures. */
const quoteIsGone = (error: unknown): boolean => sqlState(error) === 'PQ001'

const carryOut = async (ports: ExchangesPorts, id: QuoteId, acting: Acting<WorkspaceId>): Promise<Order> => {
  const { workspace } = acting
  const found = await readQuote(ports.database, { id, workspace })
  if (!found) throw notFound('no such quote')
  if (!isOpen(found, ports.clock.now())) throw new Refusal('EXCHANGE.QUOTE_UNUSABLE', { internal: 'expired' })
  const figures = figuresIn(found.figures)
  const wallet = { workspace, active: true, currencyField: 'quoteBizId' }
  try {
    return await ports.ledger.execute({
      ...signedBy(acting),
      parties: [
        { ...wallet, label: 'source', wallet: found.sourceWallet, currency: figures.source.currency },
        { ...wallet, label: 'target', wallet: found.targetWallet, currency: figures.target.currency },
        ...housesOf(figures),
      ],
      create: exchangeOrder(id, workspace, figures),
      entries: entriesOf(figures),
    })
  } catch (error) {
    if (quoteIsGone(error)) throw new Refusal('EXCHANGE.QUOTE_UNUSABLE', { internal: 'spent or expired', cause: error })
    throw error
  }
}

/** Exchanges at the figures of a quote, which is spent by the same statement that moves the money. */
export const exchange = (ports: ExchangesPorts, quoteId: string, acting: Acting<WorkspaceId>): Promise<Order> => {
  const id = bizId<'quote'>(quoteId)
  return ports.ledger.orEarlierOrder(acting.key, () => carryOut(ports, id, acting))
}

/** An operator's own rate for a pair; it holds until another one is set. */
export const setRate = async (
  ports: ExchangesPorts,
  set: Omit<SetRate, 'updatedBy' | 'updatedAt'>,
  act: Act,
): Promise<SetRate> => {
  const unkept = unkeptSide(ports, set)
  if (unkept) throw invalid(`${unkept}Currency`, 'not kept here')
  return inTransaction(ports.database, async (tx) => {
    const saved = { ...set, updatedBy: act.accountId, updatedAt: act.at }
    await saveRate(tx, saved)
    const targetId = `${set.source}/${set.target}`
    await recordAct(tx, act, { workspaceId: null, targetId, detail: { rate: set.rate } })
    return saved
  })
}
