import { Route, Switch } from 'wouter'
import { visitorPages } from '../kit/account/visitors.ts'
import { Frame } from '../kit/frame.tsx'
import { t } from '../kit/i18n.ts'
import { entriesOf, Pages } from '../kit/pages.tsx'
import { SessionGate } from '../kit/session.tsx'
import { SignInPage } from '../kit/sign-in/page.tsx'
import { ProviderCallback } from '../kit/sign-in/provider.tsx'
import { Visitors } from '../kit/visitors.tsx'
import { FindField } from './find/find-field.tsx'
import { groups, pages } from './navigation.ts'

/** The operator console. */
export function Console() {
  return (
    <Switch>
      <Route path="/sign-in/provider" component={ProviderCallback} />
      {Visitors(visitorPages)}
      <Route>
        <SessionGate signedOut={<SignInPage name={t('console.name')} />}>
          <Frame
            name={t('console.name')}
            navigation={navigation()}
            head={<FindField label={t('find.title')} isCompact />}
          >
            <Pages pages={pages} />
          </Frame>
        </SessionGate>
      </Route>
    </Switch>
  )
}

function navigation() {
  return groups.map(({ label, pages: own }) => ({ label: label && t(label), entries: entriesOf(own) }))
}
