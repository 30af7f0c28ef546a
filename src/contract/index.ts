/*
 * The catalogue of Portico's own operations, joined by `buildCatalogue` from contract files. The other files are
 * building blocks for contract files. They import only the kernel and run in a browser. Start reading with `fields.ts`
 * and `policies.ts`, then `catalogue.ts`.
 */
import * as kernel from '../kernel/coded-values.ts'
import * as ledger from '../ledger/contract.ts'
import { buildCatalogue, type Catalogue, type Contracts } from './catalogue.ts'
import { identityContracts, resources } from './resources.ts'

export { type Catalogue, CatalogueError, type DeclarationError } from './catalogue.ts'
export { identityContracts, resources } from './resources.ts'

export const catalogueWith = (domains: Contracts): Catalogue =>
  buildCatalogue({ kernel, ledger }, { ...identityContracts, ...domains })

export const bankingCatalogue: Catalogue = catalogueWith(resources)

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
