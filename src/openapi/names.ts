import { namedOperations } from '../contract/index.ts'
import type { ChainId, Operation } from '../kernel/index.ts'

export const pascal = (text: string): string =>
  text.replaceAll(/(^|[.\-_ ])(\w)/g, (_, __, letter: string) => letter.toUpperCase())

const exportNames = new Map(namedOperations.map(([name, operation]) => [operation, name]))

/** What code calls the operation: its export name in the contract, `transfersCreate` for one from elsewhere. */
export const codeNameOf = (operation: Operation): string => exportNames.get(operation) ?? operation.id

/** Unique in the document: an operation has one per chain that serves it. */
export const operationIdOf = (operation: Operation, chainId: ChainId): string => `${chainId}.${operation.id}`
