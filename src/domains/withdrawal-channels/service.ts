import { type Database, inTransaction, type Tx } from '../../database/index.ts'
import {
  type AccountId,
  type Clock,
  type Ids,
  invalid,
  notFound,
  Refusal,
  type WorkspaceAccess,
  type WorkspaceId,
} from '../../kernel/index.ts'
import type { Acting, Ledger } from '../../ledger/index.ts'
import { type Act, recordAct } from '../../platform/audit/index.ts'
import type { KeyedDigest, SecretBox } from '../../platform/crypto/index.ts'
import { rememberedChannel } from './remembered.ts'
import { type ChannelStatus, type ChannelType, canonicalAccount, masked, refusedTo } from './rules.ts'
import { type Channel, type ChannelId, countOpenChannels, insertChannel, lockChannel, moveChannel } from './store.ts'

export interface ChannelPorts {
  database: Database
  /** Remembers the answers of requests. */
  ledger: Ledger
  clock: Clock
  ids: Ids
  secretBox: SecretBox
  digest: KeyedDigest
  /** Whether a country has this ISO 3166 alpha-2 code. */
  isCountry(alpha2: string): boolean
  /** Makes what changes a workspace take turns; refuses where the caller's rights have shrunk since they were read. */
  members: { holdFor(tx: Tx, accountId: AccountId, by: WorkspaceAccess): Promise<unknown> }
  /** Of those that wait or are in use. */
  maxPerWorkspace: number
}

export interface NewChannel {
  channelType: ChannelType
  currency: string
  country: string
  accountHolderName: string
  accountNumber: string
  bankCode: string | null
  network: string | null
}

const open = (ports: ChannelPorts, asked: NewChannel, acting: Acting<WorkspaceId>): Channel => {
  const at = ports.clock.now()
  const { accountNumber, ...told } = asked
  return {
    ...told,
    bizId: ports.ids.next<'withdrawalChannel'>(),
    workspaceBizId: acting.workspace,
    maskedAccount: masked(canonicalAccount(asked.channelType, accountNumber)),
    channelStatus: 'PENDING_VERIFICATION',
    rejectReason: null,
    createdBy: acting.actor,
    createdAt: at,
    updatedAt: at,
  }
}

const insert = async (ports: ChannelPorts, tx: Tx, asked: NewChannel, acting: Acting<WorkspaceId>) => {
  const channel = open(ports, asked, acting)
  const { channelType, currency, accountNumber } = asked
  const bank = asked.bankCode ?? asked.network ?? ''
  const account = {
    sealed: ports.secretBox.seal('withdrawal-account', channel.bizId, Buffer.from(accountNumber)),
    digest: ports.digest(
      'withdrawal-account',
      channelType,
      currency,
      bank,
      canonicalAccount(channelType, accountNumber),
    ),
  }
  if (!(await insertChannel(tx, channel, account)))
    throw new Refusal('STATE.CONFLICT', { internal: 'the workspace has this account already' })
  return channel
}

/** The body has the account in it: whoever has the store alone could guess it by a hash that has no key. */
const keyOf = ({ digest }: ChannelPorts, { key }: Acting<WorkspaceId>): Acting['key'] => ({
  ...key,
  bodyHash: Buffer.from(digest('withdrawal-channel-request', key.bodyHash)).toString('hex'),
})

export interface Naming {
  acting: Acting<WorkspaceId>
  by: WorkspaceAccess
  act: Act
}

export const create = async (ports: ChannelPorts, asked: NewChannel, { acting, by, act }: Naming) => {
  if (!ports.isCountry(asked.country)) throw invalid('country')
  return inTransaction(ports.database, async (tx) => {
    const ledger = ports.ledger.within(tx)
    const key = keyOf(ports, acting)
    const earlier = await ledger.earlierAnswer(key)
    if (earlier) return rememberedChannel(earlier.answer)
    await ports.members.holdFor(tx, acting.actor, by)
    if ((await countOpenChannels(tx, acting.workspace)) >= ports.maxPerWorkspace)
      throw new Refusal('STATE.CONFLICT', { internal: 'the workspace has as many withdrawal channels as it may' })
    const channel = await insert(ports, tx, asked, acting)
    await recordAct(tx, act, { workspaceId: acting.workspace, targetId: channel.bizId })
    await ledger.keepAnswer(key, channel)
    return channel
  })
}

type Decide = (status: ChannelStatus) => { status: ChannelStatus; rejectReason: string | null } | undefined

const decided = ({ database, ledger }: ChannelPorts, id: ChannelId, act: Act, decide: Decide): Promise<Channel> =>
  inTransaction(database, async (tx) => {
    const channel = await lockChannel(tx, id)
    if (!channel) throw notFound('no such withdrawal channel')
    const { createdBy } = channel
    if (createdBy === act.accountId || (await ledger.within(tx).isSamePerson(createdBy, act.accountId)))
      throw new Refusal('ACCESS.PERMISSION_DENIED', { internal: 'nobody decides over what they made' })
    const to = decide(channel.channelStatus)
    if (!to) throw new Refusal('STATE.CONFLICT', { internal: `the channel is ${channel.channelStatus}` })
    await recordAct(tx, act, { workspaceId: channel.workspaceBizId, targetId: id, detail: { status: to.status } })
    return moveChannel(tx, channel, { ...to, at: act.at })
  })

export const verify = (ports: ChannelPorts, id: ChannelId, act: Act): Promise<Channel> =>
  decided(ports, id, act, (status) =>
    status === 'PENDING_VERIFICATION' ? { status: 'ACTIVE', rejectReason: null } : undefined,
  )

/** One that waits becomes REJECTED; one in use becomes DISABLED, and nothing more is paid out to it. */
export const reject = (ports: ChannelPorts, id: ChannelId, reason: string, act: Act): Promise<Channel> =>
  decided(ports, id, act, (status) => {
    const to = refusedTo(status)
    return to && { status: to, rejectReason: reason }
  })
