import type { DomainPorts } from '../../api/domain.ts'
import { isValidAt, sqlState } from '../../database/index.ts'
import {
  type AccountId,
  addMs,
  assertFound,
  days,
  type Ids,
  type Instant,
  type Money,
  Refusal,
  untilNotFull,
  type WalletId,
  type WorkspaceId,
} from '../../kernel/index.ts'
import type { CommandContext, Ledger, Opening, Order } from '../../ledger/index.ts'
import type { FixedSide, QuoteStatus } from './contract.ts'
import { newExchange, parseFigures, toFiguresData } from './order.ts'
import { assertTradable, findQuotedRate, type RateSources } from './rates.ts'
import { computeFigures, type ExchangeTerms, type Figures, type OperatorRateTerms } from './rules.ts'
import { deleteUnusedQuotes, insertQuote, type Quote, type QuoteId, readQuote } from './store.ts'

export interface ExchangesPorts extends RateSources {
  transaction: DomainPorts['transaction']
  ledger: Ledger
  ids: Ids
  terms: ExchangeTerms
  operatorRates: OperatorRateTerms
}

export interface QuoteInput {
  sourceCurrency: string
  targetCurrency: string
  /** The amount on the fixed side. */
  amount: Money
  fixedSide: FixedSide
}

export interface QuoteState {
  id: string
  figures: Figures
  expiresAt: Instant
  status: QuoteStatus
}

/** Moves no funds. */
export async function quoteExchange(
  ports: ExchangesPorts,
  input: QuoteInput,
  { actor, workspace }: { actor: AccountId; workspace: WorkspaceId },
): Promise<QuoteState> {
  const { clock, ids, terms } = ports
  const sourceWallet = await findDefaultWallet(ports, workspace, input.sourceCurrency)
  const targetWallet = await findDefaultWallet(ports, workspace, input.targetCurrency)
  const rate = await findQuotedRate(ports, { source: input.sourceCurrency, target: input.targetCurrency })
  // Otherwise, an operator could drain the house's liquidity at a rate that they set or confirmed, also with a colleague.
  for (const operator of rate.operators) {
    await ports.ledger.assertDifferentPerson(operator, actor)
    await ports.ledger.assertOutsider(workspace, operator)
  }
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

/** A used quote stays USED after its expiry. */
export async function readExchangeQuote(
  { database, clock }: Pick<ExchangesPorts, 'database' | 'clock'>,
  { id, workspace }: { id: QuoteId; workspace: WorkspaceId },
): Promise<QuoteState> {
  const found = assertFound(await readQuote(database, { id, workspace }), 'unknown quote')
  const unused = isOpen(found, clock.now()) ? 'OPEN' : 'EXPIRED'
  const status = found.order === null ? unused : 'USED'
  return { id, figures: parseFigures(found.figures), expiresAt: found.expiresAt, status }
}

/** One statement of `open` moves the funds and marks the quote as used. */
export async function useQuote(
  ports: ExchangesPorts,
  id: QuoteId,
  { workspace }: CommandContext<WorkspaceId>,
  open: (opening: Opening) => Promise<Order>,
): Promise<Order> {
  const quote = assertFound(await readQuote(ports.database, { id, workspace }), 'unknown quote')
  if (!isOpen(quote, ports.clock.now()))
    throw new Refusal('EXCHANGE.QUOTE_UNUSABLE', { internal: 'the quote has expired' })
  const figures = parseFigures(quote.figures)
  // The rates may have changed since the quote.
  await assertTradable(ports, { source: figures.source.currency, target: figures.target.currency })
  try {
    return await open(newExchange(id, quote, figures, workspace))
  } catch (error) {
    if (!isUnusableQuote(error)) throw error
    throw new Refusal('EXCHANGE.QUOTE_UNUSABLE', { internal: 'the quote is used or expired', cause: error })
  }
}

const unusedQuoteRetentionMs = days(1)
const batchSize = 10_000

/** Keeps used quotes, because orders refer to them. */
export function deleteExpiredQuotes(
  { database, clock }: Pick<ExchangesPorts, 'database' | 'clock'>,
  signal: AbortSignal,
): Promise<void> {
  return untilNotFull(batchSize, signal, (limit) =>
    deleteUnusedQuotes(database, addMs(clock.now(), -unusedQuoteRetentionMs), limit),
  )
}

async function findDefaultWallet(
  { ledger }: ExchangesPorts,
  workspace: WorkspaceId,
  currency: string,
): Promise<WalletId> {
  const wallet = assertFound(await ledger.readDefaultWallet({ workspace, currency }), `no wallet in ${currency}`)
  if (wallet.status !== 'ACTIVE')
    throw new Refusal('WALLET.NOT_ACTIVE', { internal: `the wallet in ${currency} is ${wallet.status}` })
  return wallet.bizId
}

/** The trigger in schema.ts checks the expiry again. */
function isOpen({ createdAt, expiresAt }: Pick<Quote, 'createdAt' | 'expiresAt'>, now: Instant): boolean {
  return isValidAt({ from: createdAt, until: expiresAt }, now)
}

/** The trigger in schema.ts raises this error. */
function isUnusableQuote(error: unknown): boolean {
  return sqlState(error) === 'PQ001'
}
