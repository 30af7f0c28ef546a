import { afterEach, expect, test } from 'vitest'

interface FactorPrompt {
  purpose: { operationId: string }
  answer(code: string): void
  cancel(): void
}

interface Prompts {
  askForStepUpFactor(step: object): Promise<unknown>
  Cancelled: typeof Error
  isPrompting(): boolean
  onPrompt(show: (prompt: FactorPrompt | null) => void): () => void
}

/** The applications have their own configuration of types. */
const path = '../../../apps/kit/prompts.ts'
const { askForStepUpFactor, Cancelled, isPrompting, onPrompt }: Prompts = await import(path)

let stop = (): void => undefined
afterEach(() => stop())

function watch(): FactorPrompt[] {
  const shown: FactorPrompt[] = []
  stop = onPrompt((prompt) => prompt && shown.push(prompt))
  return shown
}

const ask = (operationId: string) =>
  askForStepUpFactor({
    operationId,
    purpose: { operationId },
    mfaMethod: 'OTP',
    mfaMethods: ['OTP'],
    sent: null,
    refused: null,
  })

test('two concurrent commands ask one after the other, and each gets its own answer', async () => {
  const shown = watch()
  const [first, second] = [ask('transfer'), ask('security')]
  await expect.poll(() => shown.map(({ purpose }) => purpose.operationId)).toEqual(['transfer'])
  shown[0]?.answer('111111')
  expect(await first).toBe('111111')
  await expect.poll(() => shown.map(({ purpose }) => purpose.operationId)).toEqual(['transfer', 'security'])
  expect(isPrompting()).toBe(true)
  shown[1]?.cancel()
  await expect(second).rejects.toBeInstanceOf(Cancelled)
  expect(isPrompting()).toBe(false)
})

test('a question ends with its page, and the next page can ask', async () => {
  const shown = watch()
  const first = ask('transfer')
  await expect.poll(() => shown.length).toBe(1)
  stop()
  await expect(first).rejects.toBeInstanceOf(Cancelled)
  expect(isPrompting()).toBe(false)
  await expect(ask('transfer')).rejects.toBeInstanceOf(Cancelled)
  const next = watch()
  const second = ask('security')
  await expect.poll(() => next.length).toBe(1)
  next[0]?.answer('222222')
  expect(await second).toBe('222222')
})
