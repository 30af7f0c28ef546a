import { Refusal, type WorkspaceStatus } from '../../kernel/index.ts'

interface StatusChange {
  from: WorkspaceStatus
  to: WorkspaceStatus
}

/** The status changes that operators make. */
export const statusChanges = {
  freeze: { from: 'ACTIVE', to: 'FROZEN' },
  unfreeze: { from: 'FROZEN', to: 'ACTIVE' },
} as const satisfies Record<string, StatusChange>

export type StatusCommand = keyof typeof statusChanges

export const assertStatus = (current: WorkspaceStatus, { from }: StatusChange): void => {
  if (current !== from) throw new Refusal('STATE.CONFLICT', { internal: `it is ${current}, not ${from}` })
}
