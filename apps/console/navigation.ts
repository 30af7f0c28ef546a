import { pages as account } from '../kit/account/pages.ts'
import type { AppPage } from '../kit/pages.tsx'
import { pages as accounts } from './accounts/pages.ts'
import { pages as apiKeys } from './api-keys/pages.ts'
import { pages as audit } from './audit/pages.ts'
import { pages as find } from './find/pages.ts'
import { pages as operators } from './operators/pages.ts'
import { pages as overview } from './overview/pages.ts'
import { pages as queues } from './queues/pages.ts'
import { pages as rates } from './rates/pages.ts'
import { pages as requests } from './requests/pages.ts'
import { pages as webhooks } from './webhooks/pages.ts'
import { pages as workspaces } from './workspaces/pages.ts'

/** The groups of the navigation by the keys of their headings. */
export const groups: readonly { label: string | null; pages: readonly AppPage[] }[] = [
  { label: null, pages: [...overview, ...find] },
  { label: 'console.work', pages: queues },
  { label: 'console.records', pages: [...accounts, ...workspaces, ...rates] },
  { label: 'console.control', pages: [...operators, ...apiKeys, ...webhooks, ...audit, ...requests] },
]

export const pages: readonly AppPage[] = [...groups.flatMap((group) => group.pages), ...account]
