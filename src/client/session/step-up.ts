import type { listMfaMethods, sendStepUpCode, stepUp } from '../../identity/mfa/contract.ts'
import { confirmedFields } from '../../kernel/index.ts'
import { type PorticoError, passkeysUnavailable } from '../errors.ts'
import type { AnyArgs, OperationCaller } from '../operation-types.ts'
import type { StepUpPrompt } from '../options.ts'
import type { PasskeyAssertion, Passkeys } from '../passkeys/feature.ts'
import type { CallableOperation } from '../portal/operation.ts'
import { firstMethod, isCodeMethod, verifyFactor } from './factor.ts'

interface StepUpOperations {
  listMfaMethods: typeof listMfaMethods
  sendStepUpCode: typeof sendStepUpCode
  stepUp: typeof stepUp
}

/** Confirms a call, so that it can be repeated. */
export type StepUpFeature = (
  client: { caller: OperationCaller; passkeys: Passkeys | null },
  operation: CallableOperation,
  args: AnyArgs,
) => Promise<void>

export function confirmByCode(operations: StepUpOperations, prompt: StepUpPrompt): StepUpFeature {
  return (client, operation, args) => confirmCall({ ...client, ...operations }, prompt, operation, args)
}

interface StepUpParts extends StepUpOperations {
  caller: OperationCaller
  passkeys: Passkeys | null
}

/**
 * Confirms a call with a passkey, or with a code of the authenticator or of a mail. Throws the last refusal of a passkey or
 * a code.
 */
async function confirmCall(
  { caller, passkeys, listMfaMethods, sendStepUpCode, stepUp }: StepUpParts,
  prompt: StepUpPrompt,
  operation: CallableOperation,
  { workspaceId, query, body, params }: AnyArgs,
): Promise<void> {
  const { id: operationId } = operation
  const fields = confirmedFields(operation, query, body, params)
  const isOfWorkspace = operation.policy.workspace !== 'none' && workspaceId !== undefined
  const purpose = { operationId, ...(isOfWorkspace && { workspaceBizId: workspaceId }), ...withoutUndefined(fields) }
  const { data: methods } = await caller.answer(listMfaMethods, {})
  const enabled = methods.filter(({ isEnabled }) => isEnabled)
  const others = enabled.filter(({ mfaMethod: { code } }) => code !== 'PASSKEY')
  const hasPasskey = passkeys !== null && others.length < enabled.length
  const stepUpByPasskey = (passkey: PasskeyAssertion) =>
    caller.answer(stepUp, { body: { mfaMethod: 'PASSKEY', passkey, purpose } })
  if (hasPasskey) {
    const isWanted = (failed: PorticoError | null) => prompt.usePasskey?.({ operationId, failed }) ?? failed === null
    const hasOther = others.length > 0
    if (await passkeys.confirm(caller, purpose, { isWanted, hasOther, verify: stepUpByPasskey })) return
  }
  const codes = others.map(({ mfaMethod: { code } }) => code).filter(isCodeMethod)
  const verifyPasskey = async (): Promise<void> => {
    const isWanted = (failed: PorticoError | null) => failed === null
    const confirmed = await passkeys?.confirm(caller, purpose, { isWanted, hasOther: false, verify: stepUpByPasskey })
    if (!confirmed) throw passkeysUnavailable()
  }
  await verifyFactor<void>(firstMethod(codes) ?? 'EMAIL', {
    methods: hasPasskey ? [...codes, 'PASSKEY'] : codes,
    attempts: prompt.attempts ?? 1,
    send: async () => (await caller.answer(sendStepUpCode, { body: { mfaMethod: 'EMAIL', purpose } })).data,
    hasEarlierMail: true,
    ask: (sent, refused, factor) => prompt.code({ operationId, purpose, sent, refused, ...factor }),
    verifyCode: async (mfaMethod, code) => {
      await caller.answer(stepUp, { body: { mfaMethod, code, purpose } })
    },
    verifyPasskey,
  })
}

function withoutUndefined(fields: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
}
