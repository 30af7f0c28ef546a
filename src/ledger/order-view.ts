import {
  type CodedFamily,
  type CodedValue,
  formatMoney,
  type Locale,
  money,
  toIso,
  type Words,
  type WorkspaceAccess,
  type WorkspaceId,
  type WorkspaceKind,
  workspaceKind,
} from '../kernel/index.ts'
import type { Order } from './order.ts'
import type { Flow } from './reads/flows-store.ts'

/** The reader of a view: a workspace, or null for an operator, and the language of labels. */
export interface Viewer {
  workspace: WorkspaceId | null
  words: Words
  locale: Locale
}

/** The viewer of a request's reply. */
export const viewerOf = (
  words: Words,
  { workspace, locale }: { workspace: WorkspaceAccess | null; locale: Locale },
): Viewer => ({ workspace: workspace?.id ?? null, words, locale })

type Language = Pick<Viewer, 'words' | 'locale'>

/** The coded value of a stored code. Throws a RangeError for a code that is not in the family. */
export const toCodedValue = <C extends string>(
  family: CodedFamily<C>,
  code: string,
  { words, locale }: Language,
): CodedValue => {
  const known = family.codes.find((each) => each === code)
  if (known === undefined) throw new RangeError(`${code} is not a code of ${family.name}`)
  return words.coded(family, known, locale)
}

/** The additional field of operators' views: whether the workspace is LIVE or a SANDBOX. */
export const toWorkspaceKindView = (kind: WorkspaceKind, viewer: Language) => ({
  workspaceKind: toCodedValue(workspaceKind, kind, viewer),
})

/** A flow's direction and its amount without a sign. */
export const toFlowAmountView = ({
  amount: { minor, currency },
}: Flow): { direction: 'IN' | 'OUT'; amount: string } => ({
  direction: minor < 0n ? 'OUT' : 'IN',
  amount: formatMoney(money(minor < 0n ? -minor : minor, currency)),
})

/** Whether the viewer is an operator or a member of the workspace that created the order. */
export const isOwnOrder = (order: Order, { workspace }: Pick<Viewer, 'workspace'>): boolean =>
  workspace === null || workspace === order.workspaceBizId

/** The fields that all orders have in common. Only the creator's workspace and operators see actors and reasons. */
export const toOrderView = (order: Order, family: CodedFamily, viewer: Viewer) => {
  const isOwn = isOwnOrder(order, viewer)
  return {
    bizId: order.bizId,
    orderNo: order.orderNo,
    version: order.version,
    workspaceBizId: order.workspaceBizId,
    createdAt: toIso(order.createdAt),
    updatedAt: toIso(order.updatedAt),
    statusHistory: order.history.map((step) => ({
      status: toCodedValue(family, step.status, viewer),
      at: toIso(step.at),
      actorBizId: isOwn ? step.actorBizId : null,
      reason: isOwn ? step.reason : null,
    })),
  }
}
