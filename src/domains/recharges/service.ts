import type { Database } from '../../database/index.ts'
import {
  add,
  addMs,
  type Clock,
  compare,
  invalid,
  notFound,
  type OrderId,
  Refusal,
  toIso,
  type WalletId,
  type WorkspaceId,
} from '../../kernel/index.ts'
import {
  type Acting,
  chargeOf,
  housesOf,
  type Ledger,
  type Order,
  type OrderMove,
  type PostingCommand,
  type ReadOrder,
  ranOutAt,
  rechargeRunsOut,
  signedBy,
} from '../../ledger/index.ts'
import type { Blobs, Downloadable } from '../../platform/blobs/index.ts'
import {
  cancellation,
  confirmation,
  entriesOf,
  newRecharge,
  payee,
  type RechargeTerms,
  rejection,
  submission,
} from './commands.ts'
import { endRunOut } from './expiry.ts'
import { rechargeOf } from './recharge.ts'
import { type Channels, seenAt } from './rules.ts'

export interface RechargesPorts {
  ledger: Ledger
  clock: Clock
  channels: Channels
  /** How long a recharge waits for its payment or its proof. */
  lifeMs: number
  database: Database
  blobs: Blobs
  /** A file of the workspace that can be had; a foreign one is as unknown. */
  fileOf(workspace: WorkspaceId, file: string): Promise<Downloadable | undefined>
  /** Whether a file is one that operators are to be shown as a proof. */
  isProof(file: Downloadable): boolean
}

export interface Asked {
  wallet: WalletId
  channelCode: string
  amount: string
}

const termsOf = async (
  { ledger, channels }: RechargesPorts,
  { wallet, channelCode, amount }: Asked,
  workspace: WorkspaceId,
): Promise<RechargeTerms> => {
  const found = await ledger.readWallet({ wallet, workspace })
  if (!found) throw notFound('no such wallet')
  const channel = channels.get(channelCode)
  if (!channel?.terms.enabled) throw new Refusal('CHANNEL.NOT_AVAILABLE', { internal: 'no such channel' })
  if (channel.terms.currency !== found.currency) throw invalid('channelCode', `no channel of ${found.currency}`)
  const charge = chargeOf(channel.tariff, amount)
  if (found.status !== 'ACTIVE') throw new Refusal('WALLET.NOT_ACTIVE', { internal: `the wallet is ${found.status}` })
  return { ...charge, wallet, channel }
}

/** What a recharge would come to now, or why it cannot be; nothing is kept, of the day's limit neither. */
export const quote = async (
  ports: RechargesPorts,
  asked: Asked,
  by: { workspace: WorkspaceId; requestId: string },
): Promise<RechargeTerms> => {
  const { workspace } = by
  const terms = await termsOf(ports, asked, workspace)
  const { amount, channel } = terms
  const usageOf = channel.terms.channelCode
  const counter = { workspace, type: 'RECHARGE', usageOf, currency: amount.currency, at: ports.clock.now() } as const
  const most = channel.tariff.dailyMaximum
  const isTooMuch = async () =>
    most !== null && compare(add(await ports.ledger.readDailyUsage(counter), amount), most) > 0
  if ((await isTooMuch()) && ((await endRunOut(ports, by)) === 0 || (await isTooMuch())))
    throw new Refusal('WALLET.LIMIT_EXCEEDED', { internal: 'the daily limit' })
  return terms
}

/** The book looks at nothing else that an order could exceed. */
const isTooMuchForTheDay = (error: unknown): boolean =>
  error instanceof Refusal && error.code === 'WALLET.LIMIT_EXCEEDED'

const announce = async (ports: RechargesPorts, asked: Asked, acting: Acting<WorkspaceId>): Promise<Order> => {
  const { workspace, audit } = acting
  const terms = await termsOf(ports, asked, workspace)
  const expiresAt = toIso(addMs(ports.clock.now(), ports.lifeMs))
  const order = () =>
    ports.ledger.execute({
      ...signedBy(acting),
      parties: [payee(terms.wallet, terms.amount.currency, workspace)],
      create: newRecharge(terms, workspace, expiresAt),
    })
  try {
    return await order()
  } catch (error) {
    // What has run out has no part in the day any more, although its share goes back only as that is written down.
    if (isTooMuchForTheDay(error) && (await endRunOut(ports, { workspace, requestId: audit.requestId })) > 0)
      return order()
    throw error
  }
}

/** Announces a payment; nothing is posted before it has arrived. */
export const create = (ports: RechargesPorts, asked: Asked, acting: Acting<WorkspaceId>): Promise<Order> =>
  ports.ledger.orEarlierOrder(acting.key, () => announce(ports, asked, acting))

const stored = async ({ ledger }: RechargesPorts, id: OrderId, workspace: WorkspaceId | null): Promise<ReadOrder> => {
  const order = await ledger.readOrder({ id, type: 'RECHARGE', workspace })
  if (!order) throw notFound('no such recharge')
  return order
}

/** A workspace's recharge as it is to be seen now; null reaches every workspace's. */
export const read = async (ports: RechargesPorts, id: OrderId, workspace: WorkspaceId | null): Promise<ReadOrder> =>
  seenAt(await stored(ports, id, workspace), ports.clock.now())

type Change = Omit<PostingCommand, 'actor' | 'idempotency' | 'audit'> & { move: OrderMove }

/** Changes a recharge that its time has not ended. */
const change = (
  ports: RechargesPorts,
  id: OrderId,
  acting: Acting,
  by: (order: Order) => Change | Promise<Change>,
): Promise<Order> =>
  ports.ledger.orEarlierOrder(acting.key, async () => {
    const order = await stored(ports, id, acting.workspace)
    if (ranOutAt(order, rechargeRunsOut, ports.clock.now()) !== null)
      throw new Refusal('STATE.CONFLICT', { internal: 'its time has run out' })
    return ports.ledger.execute({ ...signedBy(acting), ...(await by(order)) })
  })

export const cancel = (
  ports: RechargesPorts,
  id: OrderId,
  reason: string,
  acting: Acting<WorkspaceId>,
): Promise<Order> =>
  change(ports, id, acting, () => ({ parties: [], move: cancellation(id, acting.workspace, reason) }))

export const submitProof = (
  ports: RechargesPorts,
  id: OrderId,
  file: string,
  acting: Acting<WorkspaceId>,
): Promise<Order> =>
  change(ports, id, acting, async () => {
    const proof = await ports.fileOf(acting.workspace, file)
    if (!proof) throw notFound('no such file')
    if (!ports.isProof(proof)) throw invalid('fileBizId', 'of a type or size that no proof has')
    return { parties: [], move: submission(id, acting.workspace, file) }
  })

/** The payment has arrived. */
export const confirm = (ports: RechargesPorts, id: OrderId, acting: Acting<null>): Promise<Order> =>
  change(ports, id, acting, (order) => {
    const recharge = rechargeOf(order)
    return {
      parties: [payee(recharge.wallet, recharge.amount.currency, order.workspaceBizId), ...housesOf(recharge)],
      move: confirmation(id, recharge),
      entries: entriesOf(recharge),
    }
  })

export const reject = (ports: RechargesPorts, id: OrderId, reason: string, acting: Acting<null>): Promise<Order> =>
  change(ports, id, acting, () => ({ parties: [], move: rejection(id, reason) }))
