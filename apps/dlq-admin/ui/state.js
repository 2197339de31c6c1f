// Who is signed in, and what that permits.
const ROLES = ['viewer', 'operator', 'admin'];

export const session = { name: '', role: 'viewer', mode: 'none' };

export const may = (role) => ROLES.indexOf(session.role) >= ROLES.indexOf(role);
