import { expiryOf, type Move } from '../../contract/ledger/life-cycle.ts'
import {
  bizId,
  type Caller,
  type Idempotency,
  mapPage,
  type OrderId,
  type Page,
  Refusal,
  type RequestContext,
  type Words,
  type WorkspaceAccess,
  type WorkspaceId,
} from '../../kernel/index.ts'
import {
  type CommandContext,
  commandOrigin,
  memberContext,
  type NewOrder,
  type OrderCommand,
  type OrderMove,
  operatorContext,
  type PostingCommand,
  type Steps,
} from '../commands/command.ts'
import type { Ledger } from '../ledger.ts'
import { expiredAt, type Order } from '../order.ts'
import { toOperatorOrderView, type Viewer, viewerOf } from '../order-view.ts'
import type { ListedOrder } from '../reads/orders-store.ts'
import { type OrderListRequest, type OrderQuery, toOrderQuery } from '../reads/queries.ts'
import { endOf, expireOrder, type NamedLifeCycle, withExpiry } from './expiry.ts'

type ViewRequest = Pick<RequestContext, 'locale'> & { workspace: WorkspaceAccess | null }
type OrderRequest = ViewRequest & { params: Readonly<Record<string, string>> }
type ListQuery = OrderListRequest & Readonly<Record<string, unknown>>
type Command = RequestContext & { caller: Caller; idempotency: Idempotency; workspace: WorkspaceAccess | null }
type MemberCommand = Command & { workspace: WorkspaceAccess }

interface Effect extends Pick<PostingCommand, 'entries'> {
  /** Executes the command within a transaction, or turns its errors into refusals. Default: `execute(ledger)`. */
  within?(execute: (ledger: Ledger) => Promise<Order>): Promise<Order>
}

/** The content of a new order. Its statuses are those of the move. */
export interface Opening extends Effect, Pick<PostingCommand, 'holds' | 'parties'> {
  order: Pick<NewOrder, 'data' | 'usage' | 'outgoing'>
}

/**
 * The effect of a move. Its statuses and the end of its holds are declared. `holds` and `usage` are the amounts of a move
 * that is declared with `holds: 'HELD'` and `limits: 'COUNTED'`. With `limits: 'REPLACED'`, `usage` is optional.
 */
export interface Change
  extends Effect,
    Partial<Pick<PostingCommand, 'parties' | 'holds'>>,
    Pick<OrderMove, 'data' | 'priorActors' | 'usage'> {
  /** Fewer statuses than the `from` of the move, if this order needs more than others. */
  from?: readonly string[]
  reason?: string
}

/**
 * Lists, reads and moves the orders of a type. Its functions are the handlers of the operations that derive from
 * `orderType`.
 */
export function createOrders<Type extends NamedLifeCycle, View extends object>(
  type: Type,
  { ledger, words }: { ledger: Ledger; words: Words },
  view: (order: Order, viewer: Viewer) => View,
) {
  type MoveName = keyof Type['moves'] & string
  const expiry = expiryOf(type)
  const moveOf = (name: MoveName): Move => {
    const move = type.moves[name]
    if (!move) throw new TypeError(`${type.name} has no move ${name}`)
    return move
  }

  const show = (order: Order, request: ViewRequest): View => view(order, viewerOf(words, request))
  const showToOperator = (order: ListedOrder, request: ViewRequest) => ({
    ...show(order, request),
    ...toOperatorOrderView(order, viewerOf(words, request)),
  })

  /** A null workspace selects any workspace. */
  const find = async (id: OrderId, workspace: WorkspaceId | null): Promise<ListedOrder> =>
    withExpiry(type, await ledger.readOrder({ id, type: type.name, workspace }), ledger.now())

  /** Also applies the conditions of `more`. */
  const page = async (
    query: ListQuery,
    workspace: WorkspaceId | null,
    more: Pick<OrderQuery, 'participant' | 'statuses' | 'data'> = {},
  ): Promise<Page<ListedOrder>> => {
    const now = ledger.now()
    const status = query[type.statuses.name]
    const selected = typeof status === 'string' ? { status } : {}
    const orders = await ledger.listOrders({
      ...toOrderQuery(query, { type: type.name, workspace, ...selected }),
      ...(expiry && { expiry: { ...expiry, at: now } }),
      ...more,
    })
    return mapPage(orders, (order) => withExpiry(type, order, now))
  }

  const execute = (command: OrderCommand, { within }: Effect): Promise<Order> =>
    within ? within((store) => store.execute(command)) : ledger.execute(command)

  const makeMove = async (name: MoveName, id: OrderId, context: CommandContext, change: Change): Promise<Order> => {
    const declared = moveOf(name)
    const { parties = [], entries, holds, usage, data, reason, from = declared.from, priorActors } = change
    assertDeclared(name, declared, change)
    const move: OrderMove = {
      id,
      type: type.name,
      workspace: context.workspace,
      expected: from,
      steps: toSteps(declared, reason),
      data: { ...(declared.reason && reason !== undefined && { [declared.reason]: reason }), ...data },
      ...(priorActors && { priorActors }),
      ...(declared.by === 'operator' && !declared.whileFrozen && { whileActive: true }),
      ...((declared.limits === 'RETURNED' || (declared.limits === 'REPLACED' && usage)) && { returnsUsage: true }),
      ...(usage && { usage }),
      ...endOf(declared.holds),
    }
    const postings = { ...(entries && { entries }), ...(holds && { holds }) }
    return execute({ ...commandOrigin(context), parties, move, ...postings }, change)
  }

  return {
    show,
    showToOperator,
    find,
    page,

    list: async (request: ViewRequest & { query: ListQuery; workspace: WorkspaceAccess }) =>
      mapPage(await page(request.query, request.workspace.id), (order) => show(order, request)),

    read: async (request: OrderRequest & { workspace: WorkspaceAccess }) =>
      show(await find(idOf(request), request.workspace.id), request),

    listAll: async (request: ViewRequest & { query: ListQuery }) =>
      mapPage(await page(request.query, null), (order) => showToOperator(order, request)),

    readAny: async (request: OrderRequest) => showToOperator(await find(idOf(request), null), request),

    /** Creates an order by a move without `from`. */
    open: (name: MoveName, context: CommandContext<WorkspaceId>, opening: Opening): Promise<Order> => {
      const move = moveOf(name)
      const { parties, entries, holds, order } = opening
      if (move.from.length > 0 || (holds !== undefined) !== (move.holds === 'HELD'))
        throw new TypeError(`${type.name} is not opened so by ${name}`)
      const create = { ...order, workspace: context.workspace, type: type.name, steps: toSteps(move) }
      const postings = { ...(entries && { entries }), ...(holds && { holds }) }
      return execute({ ...commandOrigin(context), parties, create, ...postings }, opening)
    },

    /** Returns the handler of a request for an order. A repeated request gets the stored order, even if `work` refuses. */
    create:
      <R extends MemberCommand>(work: (request: R, context: CommandContext<WorkspaceId>) => Promise<Order>) =>
      async (request: R): Promise<View> => {
        const context = memberContext(request)
        return show(await ledger.replayOnRefusal(context.key, () => work(request, context)), request)
      },

    /**
     * Returns the handler of a move. `toChange` reads the order only if it needs it. Refuses an expired order, unless the
     * move leaves the status of the expiry.
     */
    move:
      <R extends Command & OrderRequest>(
        name: MoveName,
        toChange: (
          request: R,
          context: CommandContext,
          read: () => Promise<Order>,
        ) => Change | Promise<Change> = () => ({}),
      ) =>
      async (request: R): Promise<View> => {
        const context = contextOf(moveOf(name), request)
        const id = idOf(request)
        let found: Promise<Order> | undefined
        const read = () => {
          found ??= ledger.readOrder({ id, type: type.name, workspace: context.workspace })
          return found
        }
        const order = await ledger.replayOnRefusal(context.key, async () => {
          if (expiry && expiredAt(await read(), expiry, ledger.now()) !== null) {
            if (!moveOf(name).from.includes(expiry.to))
              throw new Refusal('STATE.CONFLICT', { internal: 'the order has expired' })
            // The job may not have recorded the expiry yet.
            await expireOrder(ledger, type, { id, expiry, requestId: request.requestId })
            found = undefined
          }
          return makeMove(name, id, context, await toChange(request, context, read))
        })
        return show(order, request)
      },
  }
}

/** A change that its declaration does not allow is a mistake of the domain. */
function assertDeclared(name: string, declared: Move, { holds, usage, data = {}, reason, from = [] }: Change): void {
  const fields: readonly string[] = declared.sets ?? []
  const mistakes = [
    [declared.reason !== undefined && reason === undefined, 'needs a reason'],
    [(holds !== undefined) !== (declared.holds === 'HELD'), "needs `holds` if it is declared with 'HELD'"],
    [
      declared.limits !== 'REPLACED' && (usage !== undefined) !== (declared.limits === 'COUNTED'),
      "needs `usage` if it is declared with 'COUNTED'",
    ],
    [Object.keys(data).some((field) => !fields.includes(field)), 'changes a field that `sets` does not declare'],
    [from.some((status) => !declared.from.includes(status)), 'leaves a status that `from` does not declare'],
  ] as const
  for (const [isMistake, message] of mistakes) if (isMistake) throw new TypeError(`${name} ${message}`)
}

function toSteps({ to: [first, ...rest] }: Move, reason?: string): Steps {
  const last = reason === undefined ? {} : { reason }
  return rest.length === 0
    ? [{ status: first, ...last }]
    : [{ status: first }, ...rest.map((status, at) => ({ status, ...(at === rest.length - 1 && last) }))]
}

function idOf({ params }: Pick<OrderRequest, 'params'>): OrderId {
  const [id, ...others] = Object.values(params)
  if (id === undefined || others.length > 0) throw new TypeError('the path needs one parameter, the id of the order')
  return bizId<'order'>(id)
}

function contextOf({ by }: Move, request: Command): CommandContext {
  if (by === 'operator') return operatorContext(request)
  const { workspace } = request
  if (by !== 'member' || workspace === null) throw new TypeError(`${request.operationId} is not a move by ${by}`)
  return memberContext({ ...request, workspace })
}
