import { resources } from '../contract/index.ts'
import { type ChainId, type Operation, operationsIn } from '../kernel/index.ts'

export const pascal = (text: string): string =>
  text.replaceAll(/(^|[.\-_ ])(\w)/g, (_, __, letter: string) => letter.toUpperCase())

const exportNames = new Map<Operation, string>(
  Object.values(resources).flatMap((resource) => {
    const names = new Map<unknown, string>(Object.entries(resource).map(([name, value]) => [value, name]))
    return operationsIn(resource).map((operation): [Operation, string] => [operation, names.get(operation) ?? ''])
  }),
)

/** What code calls the operation: its export name in the contract, `transfersCreate` for one from elsewhere. */
export const codeNameOf = (operation: Operation): string => exportNames.get(operation) || operation.id

/** Unique in the document: an operation has one per chain that serves it. */
export const operationIdOf = (operation: Operation, chainId: ChainId): string => `${chainId}.${operation.id}`
