import { Link, Redirect, Route, Switch } from 'wouter'
import { pages as account } from '../kit/account/pages.ts'
import { visitorPages } from '../kit/account/visitors.ts'
import { Frame } from '../kit/frame.tsx'
import { t } from '../kit/i18n.ts'
import { entriesOf, Pages } from '../kit/pages.tsx'
import { SessionGate } from '../kit/session.tsx'
import { readPageSettings } from '../kit/settings.ts'
import { SignInPage } from '../kit/sign-in/page.tsx'
import { ProviderCallback } from '../kit/sign-in/provider.tsx'
import { Visitors } from '../kit/visitors.tsx'
import { groups, pages } from './navigation.ts'
import { NotificationsLink } from './notifications/link.tsx'
import { LiveEvents } from './notifications/live.tsx'
import { registrationPages } from './registration/pages.ts'
import { useWorkspace, WorkspaceChoice, WorkspaceGate, WorkspaceTimeZone } from './workspace.tsx'
import { pagesWithoutWorkspace } from './workspaces/pages.ts'

/** The consumer portal. */
export function Portal() {
  return (
    <Switch>
      <Route path="/sign-in/provider" component={ProviderCallback} />
      {Visitors([...visitorPages, ...registrationPages])}
      <Route>
        <SessionGate signedOut={<PortalSignIn />}>
          <WorkspaceGate none={<NoWorkspace />}>
            <Workspace />
          </WorkspaceGate>
        </SessionGate>
      </Route>
    </Switch>
  )
}

function PortalSignIn() {
  return (
    <SignInPage name={t('portal.name')}>
      {readPageSettings().selfRegistration && <Link href="/register">{t('sign-in.register')}</Link>}
    </SignInPage>
  )
}

/** A second gate reads the permissions in the workspace. Forms, secrets and permissions of another one are not kept. */
function Workspace() {
  const { workspace } = useWorkspace()
  return (
    <SessionGate key={workspace.workspaceBizId} workspaceId={workspace.workspaceBizId} signedOut={null}>
      <LiveEvents>
        <Frame name={t('portal.name')} navigation={navigation()} head={<Head />}>
          <WorkspaceTimeZone>
            <Switch>
              <Route path="/">
                <Redirect href="/wallets" replace />
              </Route>
              <Route>
                <Pages pages={pages} />
              </Route>
            </Switch>
          </WorkspaceTimeZone>
        </Frame>
      </LiveEvents>
    </SessionGate>
  )
}

function Head() {
  return (
    <div className="portal-head">
      <WorkspaceChoice />
      <NotificationsLink />
    </div>
  )
}

/** The own account is reached without a workspace, too. */
function NoWorkspace() {
  return (
    <Frame name={t('portal.name')} navigation={[]}>
      <Pages pages={[...account, ...pagesWithoutWorkspace]} />
    </Frame>
  )
}

function navigation() {
  return groups.map(({ label, pages: own }) => ({ label: label && t(label), entries: entriesOf(own) }))
}
