import { pages as account } from '../kit/account/pages.ts'
import type { AppPage } from '../kit/pages.tsx'
import { pages as apiKeys } from './api-keys/pages.ts'
import { pages as exchanges } from './exchanges/pages.ts'
import { pages as exports } from './exports/pages.ts'
import { pages as members } from './members/pages.ts'
import { pages as notifications } from './notifications/pages.ts'
import { pages as recharges } from './recharges/pages.ts'
import { pages as roles } from './roles/pages.ts'
import { pages as transfers } from './transfers/pages.ts'
import { pages as wallets } from './wallets/pages.ts'
import { pages as webhooks } from './webhooks/pages.ts'
import { pages as withdrawals } from './withdrawals/pages.ts'
import { pages as workspaces } from './workspaces/pages.ts'

/** The groups of the navigation by the keys of their headings. */
export const groups: readonly { label: string | null; pages: readonly AppPage[] }[] = [
  { label: 'portal.money', pages: [...wallets, ...transfers, ...recharges, ...withdrawals, ...exchanges] },
  { label: 'portal.people', pages: [...members, ...roles, ...workspaces] },
  { label: 'portal.connections', pages: [...apiKeys, ...webhooks, ...exports, ...notifications] },
]

export const pages: readonly AppPage[] = [...groups.flatMap((group) => group.pages), ...account]

/** The page after a change of the workspace. The page of a record, which the next workspace does not have, becomes its list. */
export function pathInOtherWorkspace(path: string): string {
  return pages.some((page) => page.path === path) ? path : `/${path.split('/')[1] ?? ''}`
}
