import { type Call, isCommand, type Stage } from '../../gateway/pipeline/call.ts'
import { type Operation, Refusal } from '../../kernel/index.ts'
import type { PlacedCommand } from '../../platform/service-commands/index.ts'
import type { Backend } from '../backend.ts'
import { callerKey } from '../upstream/circuit.ts'
import { assign } from './assignment.ts'
import type { CanaryOutcome } from './metrics.ts'
import type { Trial } from './trials.ts'

export interface TrialStagePorts {
  trialOf(operation: Operation): Trial | null
  /** Returns where the command was sent first: `place`, if it is new. */
  recordPlace(command: PlacedCommand, place: string): Promise<string>
  countCanary(url: string, outcome: CanaryOutcome): void
}

type Canary = NonNullable<Trial['canary']>

/** Selects the canary or the backend, and counts the failures of the canary. */
export function trialStage(
  { trialOf, recordPlace, countCanary }: TrialStagePorts,
  dispatch: (call: Call, backend?: Backend) => Promise<void>,
): Stage {
  const atCanary = async (call: Call, { state, backend }: Canary): Promise<void> => {
    const record = (isFailure: boolean): void => {
      // A client that disconnects ends its reads.
      if (call.client.isGone && !isCommand(call)) return
      state.record(callerKey(call), isFailure)
      countCanary(state.settings.url, isFailure ? 'failed' : 'ok')
    }
    try {
      await dispatch(call, backend)
    } catch (error) {
      record(isFault(error))
      throw error
    }
    record(false)
  }

  const serve = async (call: Call, { place, canary }: Trial): Promise<void> => {
    const use = { servedBy: 'backend', rule: 'none', shadow: null } satisfies Call['trial']
    if (!canary) {
      call.trial = use
      return dispatch(call)
    }
    const choice = choose(call, canary)
    const command = commandOf(call)
    const wanted = choice.isCanary ? canary.place : place
    const first = command ? await recordPlace(command, wanted) : wanted
    const rule = first === wanted ? choice.rule : 'same key'
    if (first === canary.place) {
      call.trial = { ...use, servedBy: 'canary', rule }
      return atCanary(call, canary)
    }
    call.trial = { ...use, rule }
    if (first !== place)
      throw new Refusal('SYSTEM.UNAVAILABLE', {
        retryAfter: 60,
        internal: 'a command with this key was sent to a service that `backends` no longer names',
      })
    return dispatch(call)
  }

  return (call) => {
    const trial = trialOf(call.operation)
    return trial ? serve(call, trial) : dispatch(call)
  }
}

function choose(call: Call, { state }: Canary): { isCanary: boolean; rule: NonNullable<Call['trial']>['rule'] } {
  const assignment = assign(state.settings, call)
  return assignment.isCanary && state.isReturned ? { isCanary: false, rule: 'returned' } : assignment
}

function commandOf({ operation, caller, workspace, idempotency }: Call): PlacedCommand | null {
  return idempotency && caller
    ? {
        account: caller.accountId,
        workspace: workspace?.id ?? null,
        operation: operation.id,
        requestId: idempotency.key,
      }
    : null
}

/** Timeouts, invalid replies, and services that cannot be reached. */
function isFault(error: unknown): boolean {
  return !(error instanceof Refusal) || error.code.startsWith('SYSTEM.')
}
