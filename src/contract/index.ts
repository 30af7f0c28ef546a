/*
 * The catalogue of Portico's own operations, joined by `joinContracts` from contract files. The other files are
 * building blocks for contract files. They import only the kernel and run in a browser. Start reading with `fields.ts`
 * and `policies.ts`, then `catalogue.ts`.
 */

import * as provisioning from '../banking/provisioning/contract.ts'
import * as kernel from '../kernel/coded-values.ts'
import { DeclarationErrors } from '../kernel/index.ts'
import * as ledger from '../ledger/contract.ts'
import { type Catalogue, type Contracts, type JoinedCatalogue, joinContracts } from './catalogue.ts'
import { bankingContracts as callable, gatewayContracts, identityContracts } from './resources.ts'

export type { Catalogue } from './catalogue.ts'
export { gatewayContracts, identityContracts, resources } from './resources.ts'

/** `resources.ts` lacks those that the typed client does not call. */
export const bankingContracts = { ...callable, provisioning }

export function joinWith(domains: Contracts): JoinedCatalogue {
  const off = Object.entries(bankingContracts).filter(([name]) => !Object.hasOwn(domains, name))
  const all = { ...identityContracts, ...domains, observations: gatewayContracts.observations }
  return joinContracts({ kernel, ledger }, all, { off: Object.fromEntries(off), ofGateway: gatewayContracts })
}

/** Throws DeclarationErrors. */
export function catalogueWith(domains: Contracts): Catalogue {
  const { catalogue, errors } = joinWith(domains)
  if (errors.length > 0) throw new DeclarationErrors(errors)
  return catalogue
}

export const bankingCatalogue: Catalogue = catalogueWith(bankingContracts)

export const {
  operations: catalogue,
  namedOperations,
  codes,
  isCode,
  statusOf,
  numericCode,
  codedFamilies,
  permissionTable,
  workspacePermissions,
  operatorPermissions,
  apiKeyPermissions,
} = bankingCatalogue
