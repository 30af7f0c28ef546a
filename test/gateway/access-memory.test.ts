import { describe, expect, test } from 'vitest'
import { rememberAccess } from '../../src/gateway/index.ts'
import { bizId, type Caller, Refusal, toInstant, type WorkspaceAccess } from '../../src/kernel/index.ts'

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

/** A gate that knows the default workspace alone. */
const memory = () => {
  const enter = async (_: Caller, workspaceId: string | null): Promise<WorkspaceAccess> => {
    if (workspaceId !== null) throw new Refusal('ACCESS.PERMISSION_DENIED')
    return standard
  }
  return rememberAccess({ enter }, { now: () => toInstant(0) }, { leaseMs: 250, shared: false })
}

const refused = { code: 'ACCESS.PERMISSION_DENIED' }
const entering = async (access: ReturnType<typeof memory>, named: string | null) => access.enter(caller, named)

test('403 ACCESS.PERMISSION_DENIED for an empty X-Workspace-Id, also where the default workspace is remembered', async () => {
  const access = memory()
  expect(await entering(access, null)).toBe(standard)
  await expect(entering(access, '')).rejects.toMatchObject(refused)
})

test('an empty X-Workspace-Id that is being looked up refuses nobody the default workspace', async () => {
  const access = memory()
  const [empty, none] = await Promise.allSettled([entering(access, ''), entering(access, null)])
  expect(empty).toMatchObject({ status: 'rejected', reason: refused })
  expect(none).toMatchObject({ status: 'fulfilled', value: standard })
})

describe('rights that are remembered', () => {
  const remembering = (leaseMs: number, shared: boolean) => {
    const at = { ms: 0, asked: 0 }
    const enter = async () => {
      at.asked += 1
      return standard
    }
    return { at, access: rememberAccess({ enter }, { now: () => toInstant(at.ms) }, { leaseMs, shared }) }
  }

  test('serve for the lease alone where another replica may have changed them', async () => {
    const { at, access } = remembering(250, true)
    for (const [ms, asked] of [
      [0, 1],
      [249, 1],
      [250, 2],
    ] as const) {
      at.ms = ms
      await access.enter(caller, null)
      expect([ms, at.asked]).toEqual([ms, asked])
    }
  })

  test('are used by nobody once a change of them is answered, on no replica', async () => {
    const { access } = remembering(100, true)
    const begun = performance.now()
    await access.changed()
    // A timer may be a millisecond early by this clock.
    expect(performance.now() - begun).toBeGreaterThan(98)
  })

  test('make nobody wait where there is no other replica', async () => {
    await expect(remembering(600_000, false).access.changed()).resolves.toBeUndefined()
  })
})
