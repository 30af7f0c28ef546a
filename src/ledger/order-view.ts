import {
  accountStatus,
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
  workspaceStatus,
} from '../kernel/index.ts'
import { flowType } from './contract.ts'
import type { Order } from './order.ts'
import type { Flow } from './reads/flows-store.ts'
import type { ListedOrder } from './reads/orders-store.ts'

/** The member or operator who reads a view. `workspace` is null for an operator. `locale` is the language of labels. */
export interface Viewer {
  workspace: WorkspaceId | null
  words: Words
  locale: Locale
}

/** Returns the viewer of a request. Each operator's request has no workspace. */
export function viewerOf(
  words: Words,
  { workspace, locale }: { workspace: WorkspaceAccess | null; locale: Locale },
): Viewer {
  return { workspace: workspace?.id ?? null, words, locale }
}

type Language = Pick<Viewer, 'words' | 'locale'>

/** Throws a RangeError if the family does not contain the code. */
export function toCodedValue<C extends string>(
  family: CodedFamily<C>,
  code: string,
  { words, locale }: Language,
): CodedValue {
  const known = family.codes.find((each) => each === code)
  if (known === undefined) throw new RangeError(`${code} is not a code of ${family.name}`)
  return words.coded(family, known, locale)
}

/** The type of a removed domain has no text: its label is the code, and its number is 0. */
export function toFlowTypeView(code: string, { words, locale }: Language): CodedValue {
  return words.findCoded(flowType, code, locale) ?? { code, value: 0, label: code, description: code }
}

/** Returns the reply fields of `workspaceFields`. */
export function toWorkspaceKindView(kind: WorkspaceKind, viewer: Language) {
  return {
    workspaceKind: toCodedValue(workspaceKind, kind, viewer),
  }
}

/** Returns the fields that operators see in addition to those of `toOrderView`. */
export function toOperatorOrderView(
  { workspaceKind: kind, workspaceStatus: status, creatorStatus }: ListedOrder,
  viewer: Language,
) {
  return {
    ...toWorkspaceKindView(kind, viewer),
    workspaceStatus: toCodedValue(workspaceStatus, status, viewer),
    creatorStatus: creatorStatus && toCodedValue(accountStatus, creatorStatus, viewer),
  }
}

/** Returns the amount without its sign, and the direction. */
export function toFlowAmountView({ amount: { minor, currency } }: Flow): { direction: 'IN' | 'OUT'; amount: string } {
  return {
    direction: minor < 0n ? 'OUT' : 'IN',
    amount: formatMoney(money(minor < 0n ? -minor : minor, currency)),
  }
}

/** Whether the viewer is an operator or a member of the creating workspace. */
export function isOwnOrder(order: Order, { workspace }: Pick<Viewer, 'workspace'>): boolean {
  return workspace === null || workspace === order.workspaceBizId
}

/** Returns the reply fields of `orderFields` and the history. Hides actors and reasons from the counterparty. */
export function toOrderView(order: Order, family: CodedFamily, viewer: Viewer) {
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
