/*
 * Questions that code outside of components asks the user. The frame shows the current one (confirm-dialog.tsx).
 */

/** A second factor for a sign-in or a step-up. */
export interface FactorPrompt {
  /** What the factor confirms, or null for a sign-in. */
  operationId: string | null
  /** Where the code was sent. Null if the user generates it. */
  destination: string | null
  /** Why the previous code was refused. */
  refusal: string | null
  answer(code: string): void
  cancel(): void
}

/** The user closed the dialog. Forms ignore it. */
export class Cancelled extends Error {}

type Listener = (prompt: FactorPrompt | null) => void

let listener: Listener = () => undefined

/** Shows the prompts from now on. Returns the function that stops it. */
export function onPrompt(show: Listener): () => void {
  listener = show
  return () => {
    listener = () => undefined
  }
}

/** Resolves with the code that the user entered. Rejects with `Cancelled`. */
export function askForCode(facts: Pick<FactorPrompt, 'operationId' | 'destination' | 'refusal'>): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  listener({ ...facts, answer: resolve, cancel: () => reject(new Cancelled('cancelled')) })
  return promise.finally(() => listener(null))
}
