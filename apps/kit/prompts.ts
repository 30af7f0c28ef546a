import type { SignIn, StepUpPrompt } from 'portal-client'

/*
 * Questions that code outside of components asks the user. The frame shows the current one (factor-dialog.tsx).
 */

type StepUpStep = Parameters<StepUpPrompt['code']>[0]
type SignInStep = Parameters<SignIn['code']>
export type Factor = StepUpStep['mfaMethod']

/** The code that the user entered, or the factor that the user chose instead. */
export type FactorAnswer = string | { mfaMethod: Factor }

/** A second factor for a sign-in or a step-up. */
export interface FactorPrompt {
  /** What the factor confirms, or null for a sign-in. */
  purpose: StepUpStep['purpose'] | null
  mfaMethod: Factor
  /** The factors that the user can choose. */
  mfaMethods: readonly Factor[]
  /** Where the code was sent. Null if the user generates it. */
  destination: string | null
  /** Why the previous code was refused. */
  refusal: string | null
  /** No code was mailed, because the previous mail is too recent. */
  isTooSoon: boolean
  /** When another code can be mailed, in milliseconds of `Date.now()`. Null if at once. */
  nextMailAt: number | null
  answer(answer: FactorAnswer): void
  cancel(): void
}

/** The user closed the dialog. Forms ignore it. */
export class Cancelled extends Error {}

type Listener = (prompt: FactorPrompt | null) => void

let listener: Listener | null = null
let cancelOpen: (() => void) | null = null

/** Shows the prompts from now on. Returns the function that stops it, and cancels the open one. */
export function onPrompt(show: Listener): () => void {
  listener = show
  return () => {
    if (listener !== show) return
    listener = null
    cancelOpen?.()
  }
}

/** Whether a prompt is open, above any other dialog. */
export function isPrompting(): boolean {
  return cancelOpen !== null
}

/** For `signIn`. */
export function askForSignInFactor(...[sent, refused, factor]: SignInStep): Promise<FactorAnswer> {
  return ask({ purpose: null, ...factor, ...stateOf(sent, refused) })
}

/** For `stepUpByCode`. */
export function askForStepUpFactor({ purpose, mfaMethod, mfaMethods, sent, refused }: StepUpStep) {
  return ask({ purpose, mfaMethod, mfaMethods, ...stateOf(sent, refused) })
}

function stateOf(sent: SignInStep[0], refused: SignInStep[1]) {
  const isTooSoon = refused?.code === 'ACCESS.RATE_LIMITED'
  return {
    destination: sent?.maskedDestination ?? null,
    refusal: isTooSoon ? null : (refused?.message ?? null),
    isTooSoon,
    nextMailAt: isTooSoon
      ? instantAfter(refused, refused.retryAfter ?? 0)
      : sent && instantAfter(sent, sent.resendAfter),
  }
}

/** The dialog can show the same reply several times. */
function instantAfter(reply: object, seconds: number): number {
  const instant = instants.get(reply) ?? Date.now() + 1_000 * seconds
  instants.set(reply, instant)
  return instant
}

const instants = new WeakMap<object, number>()

/** The previous question. Two open ones would replace each other, and the first one would never be answered. */
let previous: Promise<unknown> = Promise.resolve()

/** Rejects with `Cancelled`. */
function ask(facts: Omit<FactorPrompt, 'answer' | 'cancel'>): Promise<FactorAnswer> {
  const answer = previous.then(() => show(facts))
  previous = answer.catch(() => undefined)
  return answer
}

async function show(facts: Omit<FactorPrompt, 'answer' | 'cancel'>): Promise<FactorAnswer> {
  if (!listener) throw new Cancelled('no page asks')
  const { promise, resolve, reject } = Promise.withResolvers<FactorAnswer>()
  const cancel = (): void => reject(new Cancelled('cancelled'))
  cancelOpen = cancel
  listener({ ...facts, answer: resolve, cancel })
  return promise.finally(() => {
    cancelOpen = null
    listener?.(null)
  })
}
