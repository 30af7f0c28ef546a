import {
  type CodedFamily,
  type CodedValue,
  formatMoney,
  type Locale,
  money,
  toIso,
  type Words,
  type WorkspaceKind,
  workspaceKind,
} from '../kernel/index.ts'

import type { Flow } from './flows-store.ts'
import type { Order } from './order.ts'

export interface Teller {
  words: Words
  locale: Locale
}

/** The coded value of a code that the store keeps as text; one that is not of the family is a fault of ours. */
export const tellCode = <C extends string>(
  family: CodedFamily<C>,
  code: string,
  { words, locale }: Teller,
): CodedValue => {
  const known = family.codes.find((one) => one === code)
  if (known === undefined) throw new RangeError(`${code} is not one of ${family.name}`)
  return words.coded(family, known, locale)
}

/** What operators see beside: whether it is play money that waits there. */
export const tellKind = (kind: WorkspaceKind, teller: Teller) => ({
  workspaceKind: tellCode(workspaceKind, kind, teller),
})

/** A flow's amount has no sign where it is told: its direction says which way it went. */
export const tellWay = ({ amount: { minor, currency } }: Flow): { direction: 'IN' | 'OUT'; amount: string } =>
  minor < 0n
    ? { direction: 'OUT', amount: formatMoney(money(-minor, currency)) }
    : { direction: 'IN', amount: formatMoney(money(minor, currency)) }

/** What every order's reply carries. Who acted and why is the ordering workspace's own affair. */
export const tellOrder = (order: Order, family: CodedFamily, teller: Teller, own: boolean) => ({
  bizId: order.bizId,
  orderNo: order.orderNo,
  version: order.version,
  workspaceBizId: order.workspaceBizId,
  createdAt: toIso(order.createdAt),
  updatedAt: toIso(order.updatedAt),
  statusHistory: order.history.map((step) => ({
    status: tellCode(family, step.status, teller),
    at: toIso(step.at),
    actorBizId: own ? step.actorBizId : null,
    reason: own ? step.reason : null,
  })),
})
