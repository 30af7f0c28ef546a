import { inTransaction, isValidAt, sqlState } from '../../database/index.ts'
import {
  type AccountId,
  addMs,
  type Clock,
  days,
  type Ids,
  type Instant,
  invalid,
  type Money,
  notFound,
  type OrderId,
  Refusal,
  type WalletId,
  type WorkspaceId,
} from '../../kernel/index.ts'
import { type CommandContext, commandOrigin, type Ledger, type ListedOrder, type Order } from '../../ledger/index.ts'
import { type AuditContext, recordSuccess } from '../../platform/audit/index.ts'
import type { FixedSide, QuoteStatus } from './contract.ts'
import { exchangeEntries, exchangeParties, newExchange, parseFigures, toFiguresData } from './order.ts'
import { type CurrentRate, findRate, type RateSources, unsupportedSide } from './rates.ts'
import { computeFigures, type ExchangeTerms, type Figures } from './rules.ts'
import {
  deleteUnusedQuotes,
  insertQuote,
  type Quote,
  type QuoteId,
  readQuote,
  type SetRate,
  saveRate,
} from './store.ts'

export interface ExchangesPorts extends RateSources {
  ledger: Ledger
  clock: Clock
  ids: Ids
  terms: ExchangeTerms
}

/** A requested quote. */
export interface QuoteInput {
  sourceCurrency: string
  targetCurrency: string
  /** The amount on the fixed side. */
  amount: Money
  fixedSide: FixedSide
}

/** A quote with its current status. */
export interface QuoteState {
  id: string
  figures: Figures
  expiresAt: Instant
  status: QuoteStatus
}

const findDefaultWallet = async (
  { ledger }: ExchangesPorts,
  workspace: WorkspaceId,
  currency: string,
): Promise<WalletId> => {
  const wallet = await ledger.readDefaultWallet({ workspace, currency })
  if (!wallet) throw notFound(`no wallet in ${currency}`)
  if (wallet.status !== 'ACTIVE')
    throw new Refusal('WALLET.NOT_ACTIVE', { internal: `the wallet in ${currency} is ${wallet.status}` })
  return wallet.bizId
}

/** Creates a quote, which fixes the figures of an exchange until it expires. Moves no funds. */
export const quoteExchange = async (
  ports: ExchangesPorts,
  input: QuoteInput,
  { actor, workspace }: { actor: AccountId; workspace: WorkspaceId },
): Promise<QuoteState> => {
  const { clock, ids, terms } = ports
  const sourceWallet = await findDefaultWallet(ports, workspace, input.sourceCurrency)
  const targetWallet = await findDefaultWallet(ports, workspace, input.targetCurrency)
  const rate = await findRate(ports, input.sourceCurrency, input.targetCurrency)
  if (!rate) throw new Refusal('EXCHANGE.RATE_UNAVAILABLE', { internal: 'no current rate' })
  // Without this check, an operator could drain the house's liquidity at a rate that they set themselves.
  if (rate.setBy !== null) await ports.ledger.assertDifferentPerson(rate.setBy, actor)
  const figures = computeFigures(input, rate.mid, terms)
  const createdAt = clock.now()
  const quote: Quote = {
    id: ids.next<'quote'>(),
    workspace,
    sourceWallet,
    targetWallet,
    figures: toFiguresData(figures),
    createdBy: actor,
    createdAt,
    expiresAt: addMs(createdAt, terms.quoteLifeMs),
  }
  await insertQuote(ports.database, quote)
  return { id: quote.id, figures, expiresAt: quote.expiresAt, status: 'OPEN' }
}

/** Whether a quote has not expired. The trigger in schema.ts checks it again when an exchange uses the quote. */
const isOpen = ({ createdAt, expiresAt }: Pick<Quote, 'createdAt' | 'expiresAt'>, now: Instant): boolean =>
  isValidAt({ from: createdAt, until: expiresAt }, now)

/** Returns a quote with its current status. A used quote stays USED after its expiry. */
export const readExchangeQuote = async (
  { database, clock }: Pick<ExchangesPorts, 'database' | 'clock'>,
  { id, workspace }: { id: QuoteId; workspace: WorkspaceId },
): Promise<QuoteState> => {
  const found = await readQuote(database, { id, workspace })
  if (!found) throw notFound('unknown quote')
  const unused = isOpen(found, clock.now()) ? 'OPEN' : 'EXPIRED'
  const status = found.order === null ? unused : 'USED'
  return { id, figures: parseFigures(found.figures), expiresAt: found.expiresAt, status }
}

/**
 * The SQLSTATE of the trigger in schema.ts for a quote that is used or expired, or that has other figures than the
 * order.
 */
const isUnusableQuote = (error: unknown): boolean => sqlState(error) === 'PQ001'

const useQuote = async (ports: ExchangesPorts, id: QuoteId, context: CommandContext<WorkspaceId>): Promise<Order> => {
  const { workspace } = context
  const quote = await readQuote(ports.database, { id, workspace })
  if (!quote) throw notFound('unknown quote')
  if (!isOpen(quote, ports.clock.now()))
    throw new Refusal('EXCHANGE.QUOTE_UNUSABLE', { internal: 'the quote has expired' })
  const figures = parseFigures(quote.figures)
  try {
    return await ports.ledger.execute({
      ...commandOrigin(context),
      parties: exchangeParties(quote, figures, workspace),
      create: newExchange(id, figures, workspace),
      entries: exchangeEntries(figures),
    })
  } catch (error) {
    if (!isUnusableQuote(error)) throw error
    throw new Refusal('EXCHANGE.QUOTE_UNUSABLE', { internal: 'the quote is used or expired', cause: error })
  }
}

/** Exchanges currencies at the figures of a quote. One statement moves the funds and marks the quote as used. */
export const createExchange = (
  ports: ExchangesPorts,
  { quote }: { quote: QuoteId },
  context: CommandContext<WorkspaceId>,
): Promise<Order> => ports.ledger.replayOnRefusal(context.key, () => useQuote(ports, quote, context))

/** Returns an exchange of the workspace. */
export const readExchange = (
  { ledger }: ExchangesPorts,
  scope: { id: OrderId; workspace: WorkspaceId },
): Promise<ListedOrder> => ledger.readOrder({ ...scope, type: 'EXCHANGE' })

/** Sets an operator's rate for a pair. The rate applies to new quotes until an operator sets another one. */
export const setExchangeRate = async (
  ports: ExchangesPorts,
  input: Omit<SetRate, 'updatedBy' | 'updatedAt'>,
  auditContext: AuditContext,
): Promise<CurrentRate> => {
  const side = unsupportedSide(ports, input)
  if (side) throw invalid(`${side}Currency`, 'not a currency of this deployment')
  return inTransaction(ports.database, async (tx) => {
    await saveRate(tx, { ...input, updatedBy: auditContext.accountId, updatedAt: auditContext.at })
    const targetId = `${input.source}/${input.target}`
    await recordSuccess(tx, auditContext, { workspaceId: null, targetId, detail: { rate: input.rate } })
    return { ...input, updatedBy: auditContext.accountId, asOf: auditContext.at }
  })
}

const unusedQuoteRetentionMs = days(1)
const batchSize = 10_000

/** Deletes unused quotes one day after their expiry. Used quotes stay, because orders refer to them. */
export const deleteExpiredQuotes = async (
  { database, clock }: Pick<ExchangesPorts, 'database' | 'clock'>,
  signal: AbortSignal,
): Promise<void> => {
  for (let deleted = batchSize; deleted === batchSize && !signal.aborted; )
    deleted = await deleteUnusedQuotes(database, addMs(clock.now(), -unusedQuoteRetentionMs), batchSize)
}
