import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Samples } from '../../src/testing/index.ts'
import { type Call, type Gateway, type Suite, toRunner, World } from '../../src/testing/suites/index.ts'
import { type Options, type Portico, startPortico } from './portico.ts'
import { bankingSamples } from './samples.ts'
import { signIn } from './sign-in.ts'

/** The check of the audit log needs token and workspace outside the headers. */
function toHarnessCall({ headers = {}, body }: Call) {
  const { authorization, 'x-workspace-id': workspace, ...others } = headers
  const token = authorization?.startsWith('Bearer ey') ? authorization.slice('Bearer '.length) : undefined
  return {
    headers: { ...others, ...(token === undefined && authorization !== undefined && { authorization }) },
    ...(token !== undefined && { token }),
    ...(typeof workspace === 'string' && { workspace }),
    body,
  }
}

export function toGateway(portico: Portico): Gateway {
  return {
    get url() {
      return portico.url
    },
    call: (method, path, call) => portico.call(method, path, toHarnessCall(call)),
    signIn: async (email) => ({
      accessToken: (await signIn(portico, email)).accessToken,
      clientHash: 'test-client-hash',
    }),
    mailTo: async (address, matches) => {
      for (let attempt = 1; attempt <= 400; attempt++) {
        const found = (await portico.mailsTo(address)).find(({ text }) => matches.test(text))
        if (found) return found
        await pause(50)
      }
      throw new Error(`no mail to ${address} matches ${matches}`)
    },
    effects: null,
    stop: portico.stop,
  }
}

/** Uses the project's topology. */
export function describeSuites(
  options: Options,
  register: (suite: Suite, portico: () => Portico) => void,
  samples: Samples = bankingSamples,
): void {
  let portico: Portico | undefined
  let opened: World | undefined
  const started = <T>(value: T | undefined): T => {
    if (value === undefined) throw new Error('the gateway has not started')
    return value
  }
  beforeAll(async () => {
    portico = await startPortico(options)
    opened = await World.open(toGateway(portico), samples)
  })
  afterAll(() => portico?.stop())
  const runner = toRunner({ describe, test, beforeAll, afterAll, expect })
  register({ runner, world: () => started(opened) }, () => started(portico))
}
