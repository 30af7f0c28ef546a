import { useQuery } from '@tanstack/react-query'
import { readProfile } from 'portal-client'
import { type ReactNode, useEffect, useRef, useState } from 'react'
import { Link, useLocation } from 'wouter'
import { client } from './client.ts'
import { FactorDialog } from './factor-dialog.tsx'
import { type Locale, locale, locales, setLocale, t } from './i18n.ts'
import { usePermissionUpdates, useSession } from './session.tsx'
import { SessionEnd } from './session-end.tsx'
import { type Theme, theme, themes, useTheme } from './theme.ts'

export interface NavigationEntry {
  /** Below the path of the application, such as `/wallets`. */
  path: string
  label: string
  /** Hides the entry from users without it. */
  permission?: string
}

export interface NavigationGroup {
  /** Null for the first group. */
  label: string | null
  entries: readonly NavigationEntry[]
}

interface Props {
  name: string
  navigation: readonly NavigationGroup[]
  /** At the top, such as the choice of the workspace. */
  head?: ReactNode
  children: ReactNode
}

/** Everything around a page: navigation, account menu, notices and the questions of the client. */
export function Frame({ name, navigation, head, children }: Props) {
  const [isMenuOpen, setMenuOpen] = useState(false)
  const [path] = useLocation()
  const main = useRef<HTMLElement>(null)
  const isFirst = useRef(true)
  usePermissionUpdates()
  useEffect(() => {
    setMenuOpen(false)
    // A screen reader continues with the new page, as after the load of a document.
    if (!isFirst.current && path) main.current?.focus()
    isFirst.current = false
  }, [path])
  return (
    <div className="frame">
      <a className="skip" href="#main">
        {t('kit.skip')}
      </a>
      <header className="top">
        <button
          type="button"
          className="quiet menu-button"
          aria-expanded={isMenuOpen}
          aria-controls="navigation"
          onClick={() => setMenuOpen(!isMenuOpen)}
        >
          {t('kit.menu')}
        </button>
        <Link href="/" className="brand">
          {name}
        </Link>
        <div className="top-middle">{head}</div>
        <AccountMenu />
      </header>
      <nav id="navigation" className={isMenuOpen ? 'navigation open' : 'navigation'} aria-label={t('kit.navigation')}>
        {navigation.map((group) => (
          <Group key={group.label} group={group} path={path} />
        ))}
      </nav>
      <main id="main" ref={main} tabIndex={-1}>
        <SessionEnd />
        {children}
      </main>
      <FactorDialog />
    </div>
  )
}

function Group({ group, path }: { group: NavigationGroup; path: string }) {
  const { permissions } = useSession()
  const entries = group.entries.filter(({ permission }) => permission === undefined || permissions.has(permission))
  if (entries.length === 0) return null
  return (
    <section>
      {group.label !== null && <h2>{group.label}</h2>}
      <ul>
        {entries.map((entry) => (
          <li key={entry.path}>
            <Link href={entry.path} aria-current={isBelow(path, entry.path) ? 'page' : undefined}>
              {entry.label}
            </Link>
          </li>
        ))}
      </ul>
    </section>
  )
}

/** Closes when the user goes to another page, leaves it, or presses Escape. */
function AccountMenu() {
  const [path] = useLocation()
  const [isOpen, setOpen] = useState(false)
  const menu = useRef<HTMLDetailsElement>(null)
  const summary = useRef<HTMLElement>(null)
  useEffect(() => {
    if (!isOpen) return
    const close = ({ key }: KeyboardEvent): void => {
      if (key !== 'Escape' || !menu.current) return
      menu.current.open = false
      summary.current?.focus()
    }
    document.addEventListener('keydown', close)
    return () => document.removeEventListener('keydown', close)
  }, [isOpen])
  return (
    <details
      key={path}
      ref={menu}
      className="account-menu"
      onToggle={(event) => setOpen(event.currentTarget.open)}
      onBlur={(event) => {
        if (event.relatedTarget && !event.currentTarget.contains(event.relatedTarget)) event.currentTarget.open = false
      }}
    >
      <summary ref={summary}>{t('kit.account')}</summary>
      <div className="menu">
        {isOpen && <SignedInAs />}
        <Link href="/profile">{t('kit.profile')}</Link>
        <Link href="/security">{t('kit.security')}</Link>
        <ViewSettings />
        <button type="button" onClick={() => void client.signOut()}>
          {t('kit.signOut')}
        </button>
      </div>
    </details>
  )
}

function SignedInAs() {
  const { data } = useQuery({ queryKey: ['profile'], queryFn: () => client.call(readProfile) })
  return data ? <p className="hint">{data.accountEmail}</p> : null
}

/** Language and colors. */
export function ViewSettings() {
  const [chosen, choose] = useTheme()
  return (
    <>
      <label>
        <span>{t('kit.language')}</span>
        <select defaultValue={locale} onChange={(event) => setLocale(event.currentTarget.value as Locale)}>
          {Object.entries(locales).map(([code, label]) => (
            <option key={code} value={code}>
              {label}
            </option>
          ))}
        </select>
      </label>
      <label>
        <span>{t('kit.theme')}</span>
        <select value={chosen} onChange={(event) => choose(theme(event.currentTarget.value))}>
          {themes.map((each: Theme) => (
            <option key={each} value={each}>
              {t(`kit.theme_${each}`)}
            </option>
          ))}
        </select>
      </label>
    </>
  )
}

function isBelow(path: string, entry: string): boolean {
  return path === entry || (entry !== '/' && path.startsWith(`${entry}/`))
}
