import { portalIn } from '../../contract/fields.ts'
import { toOperatorView } from '../../contract/shared-schemas.ts'
import {
  bizId,
  createHandlerTable,
  type HandlerTable,
  mapPage,
  type RequestContext,
  toIso,
  type Words,
} from '../../kernel/index.ts'
import { toListParameters } from '../../ledger/index.ts'
import { auditContextOf } from '../../platform/audit/index.ts'
import * as contract from './contract.ts'
import {
  confirmProposal,
  invitePerson,
  type ProposalPorts,
  proposeOwner,
  proposePermissions,
  rejectProposal,
  resetFactors,
  revokePermissions,
} from './service.ts'
import { listOperators, listProposals, type ProposalRow } from './store.ts'
import { toProposalView } from './view.ts'

export function createHandlers(ports: ProposalPorts & { words: Words }): HandlerTable {
  const { database, words } = ports
  const toView = async (row: Promise<ProposalRow>, { receivedAt, locale }: RequestContext) =>
    toProposalView(words, await row, receivedAt, locale)

  return createHandlerTable(contract, {
    listOperators: async ({ query, locale }) => {
      const { accountEmail: email, accountId: id, sortBy } = query
      const operators = await listOperators(database, { ...toListParameters(query), sortBy, email, id })
      return mapPage(operators, (row) => toOperatorView(words, row, locale))
    },
    listProposals: async ({ query, receivedAt, locale }) => {
      const { proposalStatus: status, proposalKind: kind, proposalId: id, sortBy } = query
      const filter = { ...toListParameters(query), sortBy, status, kind, id }
      const proposals = await listProposals(database, filter, receivedAt)
      return mapPage(proposals, (row) => toProposalView(words, row, receivedAt, locale))
    },
    proposePermissions: (request) => {
      const input = { ...request.body, subjectId: bizId<'account'>(request.params.account_id) }
      return toView(proposePermissions(ports, input, auditContextOf(request), request.caller), request)
    },
    revokeOperatorPermissions: (request) => {
      const input = { ...request.body, subjectId: bizId<'account'>(request.params.account_id) }
      return toView(revokePermissions(ports, input, auditContextOf(request)), request)
    },
    proposeOwner: (request) => {
      const { userBizId, reason } = request.body
      const workspaceId = bizId<'workspace'>(request.params.workspace_id)
      const input = { workspaceId, subjectId: bizId<'account'>(userBizId), reason }
      return toView(proposeOwner(ports, input, auditContextOf(request)), request)
    },
    resetAccountFactors: (request) => {
      const input = { subjectId: bizId<'account'>(request.params.account_id), reason: request.body.reason }
      return toView(resetFactors(ports, input, auditContextOf(request)), request)
    },
    invitePerson: async (request) => {
      const { accountPortal, providerId, email } = request.body
      const input = { portal: portalIn(ports.portals, accountPortal), providerId, email }
      const { id, expiresAt } = await invitePerson(ports, input, auditContextOf(request))
      return { bizId: id, providerId, email, expiresAt: toIso(expiresAt) }
    },
    confirmProposal: (request) =>
      toView(
        confirmProposal(ports, bizId(request.params.proposal_id), auditContextOf(request), request.caller),
        request,
      ),
    rejectProposal: (request) => {
      const input = { id: bizId<'proposal'>(request.params.proposal_id), reason: request.body.reason }
      return toView(rejectProposal(ports, input, auditContextOf(request)), request)
    },
  })
}
