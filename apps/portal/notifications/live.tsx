import { createContext, type ReactNode, use, useEffect, useState, useSyncExternalStore } from 'react'
import { refreshData } from '../../kit/app.tsx'
import { usePermission, useSession } from '../../kit/session.tsx'
import { useWorkspace } from '../workspace.tsx'
import { type FeedListener, followFeed, maxKept } from './feed.ts'
import { readMark, writeMark } from './marks.ts'
import { createRefresher } from './refresh.ts'
import type { FeedEvent } from './words.ts'

interface Notices {
  /** Newest first. Null until they are known. */
  events: readonly FeedEvent[] | null
  /** ISO 8601. Events after it are new. */
  seenUntil: string
  markSeen(): void
}

interface Feed {
  markKey: string
  events: readonly FeedEvent[]
  seenUntil: string
}

const Context = createContext<Notices | null>(null)

/** The recent events of the workspace. Throws outside of `LiveEvents`. */
export function useNotices(): Notices {
  const notices = use(Context)
  if (!notices) throw new Error('useNotices outside of LiveEvents')
  return notices
}

/** Follows the events of the workspace while the page is visible. New events refresh the data and the permissions of the page. */
export function LiveEvents({ children }: { children: ReactNode }) {
  const { workspaceBizId: workspaceId } = useWorkspace().workspace
  const { accountId, refresh } = useSession()
  const markKey = `${accountId}.${workspaceId}`
  const isAllowed = usePermission('event:read')
  const isFollowing = useVisible() && isAllowed
  const [feed, setFeed] = useState<Feed | null>(null)

  useEffect(() => {
    if (!isFollowing) return
    const stopped = new AbortController()
    const refresher = createRefresher(() => {
      void refreshData()
      void refresh().catch(() => undefined)
    })
    const onRecent: FeedListener['onRecent'] = (recent, start) => {
      // On the first visit, nothing is new.
      const seenUntil = readMark(markKey).seenUntil ?? recent.at(-1)?.time ?? ''
      writeMark(markKey, { start, seenUntil })
      setFeed({ markKey, events: recent.toReversed(), seenUntil })
    }
    const onEvent = (event: FeedEvent): void => {
      setFeed((current) => current && withEvent(current, event))
      refresher.request()
    }
    const { start } = readMark(markKey)
    void followFeed({ workspaceId, start, signal: stopped.signal }, { onRecent, onEvent })
    return () => {
      stopped.abort()
      refresher.stop()
    }
  }, [workspaceId, markKey, isFollowing, refresh])

  const current = feed?.markKey === markKey ? feed : null
  const markSeen = (): void => {
    const newest = current?.events[0]?.time
    if (!current || newest === undefined || newest <= current.seenUntil) return
    writeMark(markKey, { seenUntil: newest })
    setFeed({ ...current, seenUntil: newest })
  }
  const notices = { events: current?.events ?? null, seenUntil: current?.seenUntil ?? '', markSeen }
  return <Context value={notices}>{children}</Context>
}

/** An event can arrive twice. */
function withEvent(feed: Feed, event: FeedEvent): Feed {
  const others = feed.events.filter(({ id }) => id !== event.id)
  return { ...feed, events: [event, ...others].slice(0, maxKept) }
}

/** A hidden page needs no connection, of which a browser has few for all its pages. */
function useVisible(): boolean {
  return useSyncExternalStore(subscribe, () => document.visibilityState === 'visible')
}

function subscribe(changed: () => void): () => void {
  document.addEventListener('visibilitychange', changed)
  return () => document.removeEventListener('visibilitychange', changed)
}
