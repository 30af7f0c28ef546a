import { t } from '../../kit/i18n.ts'
import { Page, Section } from '../../kit/page.tsx'
import { MyInvitations } from '../members/my-invitations.tsx'
import { CreateWorkspace } from './create-workspace.tsx'

/** For a user without a workspace: the invitations, and the form for an own one. */
export default function NoWorkspace() {
  return (
    <Page title={t('portal.noWorkspace')}>
      <Section title={t('members.myInvitations')}>
        <MyInvitations />
      </Section>
      <Section title={t('workspaces.create')}>
        <p className="hint">{t('workspaces.createHint')}</p>
        <CreateWorkspace />
      </Section>
    </Page>
  )
}
