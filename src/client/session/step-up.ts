import type { listMfaMethods, sendStepUpCode, stepUp } from '../../identity/mfa/contract.ts'
import { confirmedFields } from '../../kernel/index.ts'
import type { AnyArgs, OperationCaller } from '../operation-types.ts'
import type { StepUpPrompt } from '../options.ts'
import type { CallableOperation } from '../portal/operation.ts'
import { retryWrongCode } from './sign-in.ts'

interface StepUpOperations {
  listMfaMethods: typeof listMfaMethods
  sendStepUpCode: typeof sendStepUpCode
  stepUp: typeof stepUp
}

/** Confirms a call, so that it can be repeated. */
export type StepUpFeature = (caller: OperationCaller, operation: CallableOperation, args: AnyArgs) => Promise<void>

export function confirmByCode(operations: StepUpOperations, prompt: StepUpPrompt): StepUpFeature {
  return (caller, operation, args) => confirmCall(operations, caller, prompt, operation, args)
}

/** Confirms a call with the account's primary second factor. Throws the last refusal of a code. */
async function confirmCall(
  { listMfaMethods, sendStepUpCode, stepUp }: StepUpOperations,
  caller: OperationCaller,
  prompt: StepUpPrompt,
  operation: CallableOperation,
  { workspaceId, query, body, params }: AnyArgs,
): Promise<void> {
  const { id: operationId } = operation
  const fields = confirmedFields(operation, query, body, params)
  const isOfWorkspace = operation.policy.workspace !== 'none' && workspaceId !== undefined
  const purpose = { operationId, ...(isOfWorkspace && { workspaceBizId: workspaceId }), ...withoutUndefined(fields) }
  const { data: methods } = await caller.answer(listMfaMethods, {})
  const mfaMethod = methods.find(({ isPrimary }) => isPrimary)?.mfaMethod.code ?? 'EMAIL'
  const sent =
    mfaMethod === 'EMAIL' ? (await caller.answer(sendStepUpCode, { body: { mfaMethod, purpose } })).data : null
  await retryWrongCode(async (refused) => {
    const code = await prompt.code({ operationId, sent, refused })
    await caller.answer(stepUp, { body: { mfaMethod, code, purpose } })
  }, prompt.attempts ?? 1)
}

function withoutUndefined(fields: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
}
