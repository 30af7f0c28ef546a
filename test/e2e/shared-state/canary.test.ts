import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { place } from '../../../src/config/backends.ts'
import { send } from '../../harness/http.ts'
import { needsStore } from '../../harness/needs.ts'
import { signIn } from '../../harness/sign-in.ts'
import { paths, replyWith, startTrialWorld, storeOf, workspace } from '../trial-world.ts'

test('a canary that returns at one gateway returns at all', needsStore(), async () => {
  await using stack = new AsyncDisposableStack()
  const world = await startTrialWorld((backend, next) =>
    place.parse({
      url: backend,
      canary: { url: next, share: 1, seed: randomUUID(), minRequests: 5, maxErrorShare: 0.5 },
    }),
  )
  stack.defer(() => world.stop())
  const { accessToken: token } = await signIn(world.portico)
  world.backend.respond(storeOf('old').handle)
  world.next.respond(storeOf('new').handle)
  const notes = async (): Promise<unknown[]> => {
    const answers = world.portico.urls.map((url) => send(url, 'GET', paths.read, { token, workspace }))
    return (await Promise.all(answers)).map(({ body }) => body.data?.note)
  }
  expect(new Set(await notes())).toEqual(new Set(['new']))
  world.next.respond(replyWith('not a parcel'))
  await Promise.all(Array.from({ length: 6 }, () => world.get(paths.read)))
  // No gateway counts further failures.
  world.next.respond(storeOf('new').handle)
  await expect.poll(async () => new Set(await notes())).toEqual(new Set(['old']))
})
