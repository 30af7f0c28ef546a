import * as z from 'zod'
import { type CodedFamily, workspaceKind } from '../kernel/index.ts'
import { bizId, coded, codeOf, id, timestamp } from './fields.ts'

/** The fields that every order has. */
export const orderFields = {
  bizId,
  orderNo: z.string(),
  version: z.int(),
  createdAt: timestamp,
  updatedAt: timestamp,
}

/** The changes of an order's status. */
export const statusHistory = (family: CodedFamily) =>
  z.array(
    z.object({
      status: coded(family),
      at: timestamp,
      actorBizId: z.string().nullable(),
      reason: z.string().nullable(),
    }),
  )

/** Additional order fields and list filters for operators, whose lists contain the orders of all workspaces. */
export const workspaceFields = { workspaceKind: coded(workspaceKind) }
export const workspaceFilters = { workspaceId: id.optional(), workspaceKind: codeOf(workspaceKind).optional() }
