import { describe, expect, test } from 'vitest'
import { createAccessCache } from '../../../src/gateway/index.ts'
import { bizId, type Caller, Refusal, toInstant, type WorkspaceAccess } from '../../../src/kernel/index.ts'

const caller: Caller = {
  accountId: bizId('01990000-0000-7000-8000-000000000001'),
  portal: 'CONSUMER',
  sessionId: null,
  apiKeyId: null,
  steppedUpAt: null,
  permissions: new Set(),
}
const standard: WorkspaceAccess = {
  id: bizId('01990000-0000-7000-8000-000000000002'),
  isOwner: true,
  permissions: new Set(),
}

/** Only the default workspace is known. */
function createCache() {
  const enter = async (_: Caller, workspaceId: string | null): Promise<WorkspaceAccess> => {
    if (workspaceId !== null) throw new Refusal('ACCESS.PERMISSION_DENIED')
    return standard
  }
  return createAccessCache(
    { enter, stay: enter, identify: enter },
    { now: () => toInstant(0) },
    { ms: 10_000, shared: false },
  )
}

const refused = { code: 'ACCESS.PERMISSION_DENIED' }
async function entering(access: ReturnType<typeof createCache>, named: string | null) {
  return access.enter(caller, named)
}

test('403 ACCESS.PERMISSION_DENIED for an empty X-Workspace-Id, even if the default workspace is cached', async () => {
  const access = createCache()
  expect(await entering(access, null)).toBe(standard)
  await expect(entering(access, '')).rejects.toMatchObject(refused)
})

test('a pending lookup of an empty X-Workspace-Id does not affect the default workspace', async () => {
  const access = createCache()
  const [empty, none] = await Promise.allSettled([entering(access, ''), entering(access, null)])
  expect(empty).toMatchObject({ status: 'rejected', reason: refused })
  expect(none).toMatchObject({ status: 'fulfilled', value: standard })
})

test('a session does not get the cached rights of a session from which other permissions are withheld', async () => {
  const asked: unknown[] = []
  const enter = async ({ withheldByWorkspaces }: Caller) => {
    asked.push(withheldByWorkspaces)
    return standard
  }
  const ports = { enter, stay: enter, identify: enter }
  const access = createAccessCache(ports, { now: () => toInstant(0) }, { ms: 10_000, shared: false })
  const withheld = ['all', new Set(['wallet:read']), new Set(['transfer:create'])] as const
  const callers = [caller, ...withheld.map((withheldByWorkspaces) => ({ ...caller, withheldByWorkspaces }))]
  for (const each of [...callers, ...callers])
    for (const workspaceId of [null, standard.id]) await access.enter(each, workspaceId)
  expect(asked).toEqual([undefined, undefined, ...withheld.flatMap((each) => [each, each])])
})

describe('cached rights', () => {
  const remembering = (leaseMs: number, shared: boolean) => {
    const at = { ms: 0, lookups: 0 }
    const enter = async () => {
      at.lookups += 1
      return standard
    }
    return {
      at,
      access: createAccessCache(
        { enter, stay: enter, identify: enter },
        { now: () => toInstant(at.ms) },
        { ms: leaseMs, shared },
      ),
    }
  }

  test('expire after the TTL where other replicas exist', async () => {
    const { at, access } = remembering(250, true)
    for (const [ms, lookups] of [
      [0, 1],
      [249, 1],
      [250, 2],
    ] as const) {
      at.ms = ms
      await access.enter(caller, null)
      expect([ms, at.lookups]).toEqual([ms, lookups])
    }
  })

  test('are not used by any replica once a change has been acknowledged', async () => {
    const { access } = remembering(100, true)
    const begun = performance.now()
    await access.invalidate()
    // By this clock, a timer can fire a millisecond early.
    expect(performance.now() - begun).toBeGreaterThan(98)
  })

  test('invalidate without a delay in a single process', async () => {
    await expect(remembering(600_000, false).access.invalidate()).resolves.toBeUndefined()
  })
})
