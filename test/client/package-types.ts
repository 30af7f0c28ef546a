/* A program that uses the types of the built package. package.test.ts compiles it. */
export const usage = `
import {
  createApiClient, createClient, type CreateTransferRequest, type Transfer, type TransferStatus, type Wallet,
} from './client/index.js'
import {
  cookieSession, createClient as createConsumerClient, createTransfer, listWallets, readWallet, signIn,
} from './client/consumer.js'
import {
  CreateTransferRequest as FormSchema, createTransferRefusals, walletStatusCodes, type CreateTransferRequest as FormBody,
} from './client/forms.js'
import { approveTransfer } from './client/unchecked/system.js'
import { type PorticoEvent, verifyWebhook, WebhookError } from './client/webhooks/index.js'

const client = createClient({ baseUrl: '/', portal: 'CONSUMER', accessCode: 'x' })
const operator = createClient({ baseUrl: '/', portal: 'SYSTEM', accessCode: 'x' })
const machine = createApiClient({ baseUrl: '/', apiKey: 'x' })
const workspaceId = 'x'
const params = { wallet_id: 'x' }
const body: CreateTransferRequest = { sourceWalletBizId: 'x', targetWalletBizId: 'y', amount: '1', currency: 'USD' }

export const wallets: Promise<Wallet[]> = client.listWallets()
export const bytes: Promise<Blob> = client.downloadFile({ params: { file_id: 'x' }, workspaceId }).then((file) => file.blob())
export const transfer: Promise<Transfer> = client.createTransfer({ body })
export const pages = client.listTransfers({ query: { pageSize: 5, transferStatus: 'COMPLETED' } })
export const total: Promise<number> = pages.then(({ pagination }) => pagination.totalRecords)

client.readWallet({ params, workspaceId })
// @ts-expect-error: the operation requires a workspace
client.readWallet({ params })
// @ts-expect-error: the operation requires a workspace, also without other arguments
client.listRoles()
// The account's default workspace.
client.createTransfer({ body, workspaceId })
operator.approveTransfer({ params: { order_id: 'x' } })
// The API key's workspace.
machine.readWallet({ params: { walletBizId: 'x' } })
// @ts-expect-error: the api chain has another name for this parameter
machine.readWallet({ params })

const small = createConsumerClient({ baseUrl: '/', accessCode: 'x', session: cookieSession(), seal: 'none' })
export const smallTransfer: Promise<Transfer> = small.call(createTransfer, { body })
export const signedInBy: Promise<{ isNewDevice: boolean }> = signIn(small, { email: 'x', password: 'y', code: () => '1' })
small.call(listWallets)
small.with({ workspaceId }).call(readWallet, { params, workspaceId })
// @ts-expect-error: the operation requires a workspace
small.call(readWallet, { params })
// @ts-expect-error: the operation requires a body
small.call(createTransfer)
// @ts-expect-error: operators have another portal
small.call(approveTransfer, { params: { order_id: 'x' } })
// @ts-expect-error: a page without a secure channel must say so
createConsumerClient({ baseUrl: '/', accessCode: 'x', session: cookieSession() })
// @ts-expect-error: tokens are not in the page
small.session.tokens()

export const received = async (request: Request, secrets: string[]): Promise<Transfer | null> => {
  try {
    const event: PorticoEvent = await verifyWebhook(await request.text(), request.headers, secrets)
    // @ts-expect-error: not every event is about a transfer
    event.data.sourceWalletBizId
    return event.type === 'transfer.completed' ? event.data : null
  } catch (error) {
    if (error instanceof WebhookError && error.code === 'WEBHOOK.SIGNATURE_INVALID') return null
    throw error
  }
}

export const form: CreateTransferRequest = FormSchema.safeParse(body).success ? body : body
export const accepted: readonly FormBody[] = [body]
export const insufficient: 'WALLET.INSUFFICIENT_FUNDS' | undefined = createTransferRefusals.find((code) => code === 'WALLET.INSUFFICIENT_FUNDS')
export const open: 'ACTIVE' | 'FROZEN' | 'CLOSED' | undefined = walletStatusCodes[0]
// @ts-expect-error: an amount is a text
export const wrong: FormBody = { ...body, amount: 1 }

export const codes = ({ walletStatus, flowType }: Pick<Wallet, 'walletStatus'> & { flowType: TransferStatus }): string[] => {
  const status: 'ACTIVE' | 'FROZEN' | 'CLOSED' = walletStatus.code
  const order: 'PENDING_APPROVAL' | 'PROCESSING' | 'COMPLETED' | 'FAILED' | 'CANCELLED' | 'EXPIRED' = flowType.code
  return [status, order]
}
// @ts-expect-error: the family has no such code
export const isOpen = (wallet: Wallet): boolean => wallet.walletStatus.code === 'OPEN'
// @ts-expect-error: no such code
client.listTransfers({ query: { transferStatus: 'OPEN' } })
// @ts-expect-error: no such filter
client.listTransfers({ query: { colour: 'blue' } })
// @ts-expect-error: an amount is a text
client.createTransfer({ body: { ...body, amount: 1 } })
// @ts-expect-error: operators have another portal
client.approveTransfer({ params: { order_id: 'x' } })
`

/** Names each method whose generated types differ from the derived ones. */
export const comparison = `
import type { ApiMethods, ConsumerMethods, EventDataByType, SystemMethods } from './client/methods.js'
import type { OperationsOf, Plain } from './client/operation-types.js'
import type { resources } from './contract/resources.js'

type Module = (typeof resources)[keyof typeof resources]
type Opaque = Response | FormData | Blob | AbortSignal | ((progress: never) => void)
type Flat<T> = T extends Opaque ? T : T extends object ? { [K in keyof T]: Flat<T[K]> } : T
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
type Call<M> = M extends (...args: infer A) => Promise<infer R> ? [Flat<A>, Flat<R>] : never
type Differing<A, B> = {
  [K in keyof A | keyof B]: K extends keyof A & keyof B ? (Same<Call<A[K]>, Call<B[K]>> extends true ? never : K) : K
}[keyof A | keyof B]
type None<Names extends never> = Names

export type Consumer = None<Differing<ConsumerMethods, OperationsOf<'consumer' | 'self', Module>>>
export type System = None<Differing<SystemMethods, OperationsOf<'system' | 'self', Module>>>
type Declared = Module extends infer M ? (M extends { events: infer E } ? E : never) : never
type DataIn<E, T extends string> = E extends Readonly<Record<T, { data: infer D }>>
  ? D extends { _zod: { output: infer Data } } ? Plain<Data> : never
  : never
type Generated = { [T in keyof EventDataByType]: (data: EventDataByType[T]) => Promise<void> }
type Derived = { [T in keyof EventDataByType]: (data: DataIn<Declared, T>) => Promise<void> }
export type Events = None<Differing<Generated, Derived>>
export type Api = None<Differing<ApiMethods, OperationsOf<'api', Module>>>
`
