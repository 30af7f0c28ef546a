/* The events of rewards: docs/guides/react-to-events.md. */
import { bizId, event, member, operation, z } from 'portico/contract'

export const summary = 'Points for transfers.'

export const permissions = {
  workspace: { reward: { sortOrder: 200_000, actions: ['read', 'manage'] } },
  operator: { reward: { sortOrder: 200_000, actions: ['read'] } },
} as const

const Reward = z.object({ bizId, transferBizId: bizId, points: z.int() })

export const events = {
  'reward.granted': event({
    summary: 'A transfer has earned points.',
    data: Reward,
    audience: 'workspace',
    permission: 'reward:read',
  }),
  'reward.season_ended': event({
    summary: 'The points of a season are final.',
    data: z.object({ points: z.int() }),
    audience: 'workspace',
    permission: 'reward:read',
    operatorPermission: null,
  }),
} as const

declare global {
  interface PorticoEvents {
    rewards: typeof events
  }
}

export const endSeason = operation({
  id: 'rewards.endSeason',
  method: 'POST',
  path: '/rewards/end-season',
  chains: ['consumer'],
  summary: 'End the season',
  policy: { ...member, workspace: 'required', permission: 'reward:manage' },
  body: 'none',
  reply: z.object({ points: z.int() }),
  emits: ['reward.season_ended'],
  refuses: [],
})
