import { type Operation, operationsIn } from '../kernel/index.ts'
import * as transfers from './transfers.ts'

/** The interface as data: every operation of every chain, a file per resource. */
const resources = { transfers }

export const catalogue: readonly Operation[] = Object.values(resources).flatMap(operationsIn)
