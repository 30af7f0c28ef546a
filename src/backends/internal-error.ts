import { Refusal } from '../kernel/index.ts'

export function internalError(internal: string): Refusal {
  return new Refusal('SYSTEM.INTERNAL_ERROR', { internal })
}
