/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The words that redaction knows. A list has a blank before each word; " mysql*" and " *pass" stand for all words that
 * begin or end so, the latter first. A line in tests/fixtures/redact/ comes before a word here.
 */
#include <stddef.h>

#include "recorder/redact/redact_parts.h"

/* ---- names, by their last word and the one before it ---- */

const struct name_rule redact_names[] = {
    /* tokens of language models, or their price */
    {TELLS_NOTHING,
     " eos bos pad unk mask sep cls stop special image start end begin per new next first last audio video"
     " separator decoder encoder by delim csrf word sub",
     " token"},
    {TELLS_NOTHING, " existing", " *"}, /* existingSecret of Helm charts: the name of one */
    {TELLS_SECRET, NULL,
     " *pwd *token *password *passwd *passphrase *passcode *passwrd *apikey *authkey *secretkey *accesskey"
     " *privatekey *accountkey *clientsecret *apisecret *appsecret *sharedsecret *userpw *dbpw *ownerpw *opw *upw"
     " *encryptionkey *signingkey *masterkey pass pw secret secrets psk passwords credential credentials passwort"
     " kennwort otp totp jwt bearer requirepass masterauth setcookie apikeys pat passin passout webhook psw"},
    {TELLS_SECRET, " auth api access", " tokens"},
    {TELLS_SECRET, " sonar", " login"},
    {TELLS_KEY,
     " api access secret private account auth signing encryption master shared storage subscription admin deploy"
     " app application consumer write instrumentation service license session functions ingest integration crypt"
     " crypto cipher jwt hmac anon role join registration publish rest project wifi wep wpa preshared security"
     " user database",
     " key"},
    /* public keys, and keys that say where something is */
    {TELLS_NOTHING,
     " public pub cache sort partition object primary foreign row hash ssh gpg pgp host trust signature verify"
     " group index bucket state lookup map sync",
     " key"},
    {TELLS_RANDOM, " *", " key"},
    {TELLS_NOTHING, NULL,
     " bypass compass encompass trespass surpass overpass underpass firstpass secondpass multipass twopass"
     " singlepass renderpass lowpass highpass bandpass allpass onepass npass prepass testpass lastpass gopass"
     " postpass midpass"},
    {TELLS_SECRET, NULL, " *pass"},
    {TELLS_WEAK, "", " pin"},
    {TELLS_WEAK, " user so", " pin"},
    {TELLS_WEAK, " secret", " id"},
    {TELLS_WEAK, " auth", " basic"},
    {TELLS_WEAK, NULL, " cookie cookies auth signature sig userpwd creds login tokens"},
    {TELLS_NOTHING, NULL, NULL},
};

const char redact_switches[] =
    " max min num no ask prompt with without use show skip disable enable allow require generate print total is"
    " has hide mask redact avg revoke rotate force list per n";
const char redact_fillers[] = " value text string data base b plain plaintext raw hex literal";
const char redact_headers[] = " authorization cookie extraheader apikey";
const char redact_schemes[] = " bearer basic token digest negotiate apikey aws4-hmac-sha256 splunk key";
const char redact_no_users[] = " mailto sip sips npm acct xmpp jsr tel file pkg docker oci workspace jdbc";
const char redact_harmless[] =
    " true false yes no on off none null nil undefined required optional prompt ask always never auto enabled"
    " disabled default required: basic digest ntlm simple jwt str string -";
const char redact_file_ends[] = " *.pem *.key *.crt *.pub *.json *.txt *.p12 *.pfx *.jks *.der *.yml *.yaml";

/* ---- flags and programs: -p is a port for ssh and a password for mysql ---- */

const struct word_rule redact_words[] = {
    {{"-p"}, WHOLE, GLUED, " mysql* mariadb* pgcli xtrabackup innobackupex 7z* rar unrar"},
    {{"-p"},
     WHOLE,
     NEXT | GLUED,
     " mycli sshpass mongo* cqlsh hdbsql cypher-shell couchbase-cli cbq cbbackupmgr login rdesktop vncdo*"
     " rabbitmqadmin token-login"},
    {{"-p"},
     WHOLE,
     NEXT,
     " mydumper myloader beeline influx exaplus bteq arangosh ipmi* racadm esxcli redfishtool fcrackzip aescrypt"
     " steghide security altool twine poetry ibmcloud tower-cli ncftp* hydra medusa crackmapexec nxc netexec evil-winrm"
     " bloodhound* useradd usermod groupadd doveadm svnadmin jenkins-cli jfrog jf artifactory asadmin tabcmd"
     " psexec* winexe prlctl amqp-* sqoop impala-shell trafgen smbmap offlineimap yt-dlp youtube-dl"},
    {{"-pw"}, WHOLE, NEXT, " nodetool nzsql plink pscp psftp kadmin*"},
    {{"-hp"}, WHOLE, GLUED, " rar"},
    {{"-P"}, WHOLE, NEXT | GLUED, " sqlcmd bcp osql isql tsql fisql ipmitool zip unzip"},
    {{"-P"}, WHOLE, NEXT, " zipcloak bsdtar ssh-keygen mosquitto_* gobuster"},
    {{"-a", "AUTH", "auth"}, WHOLE, NEXT, " redis-* keydb-cli valkey-cli"},
    {{"-a", "-s"}, WHOLE, NEXT, " ldappasswd slappasswd"},
    {{"-w"}, WHOLE, NEXT | GLUED, " vsql"},
    {{"-w"}, WHOLE, COMBINED, " ldap*"},
    {{"-c", "-A", "-X"}, WHOLE, NEXT | GLUED, " snmp*"},
    {{"-k", "-K", "-pass"}, WHOLE, NEXT, " openssl dotnet ccrypt"},
    {{"-t"}, WHOLE, NEXT, " rancher doctl glab vercel codecov flyctl buildkite-agent token-login"},
    {{"-ap", "-xp"}, WHOLE, NEXT, " swaks sendemail sendEmail"},
    {{"--value"}, WHOLE, NEXT | GLUED, " aws-put"},
    {{"set-initial-password", "reset-admin-password"}, WHOLE, NEXT, " neo4j-admin grafana-cli"},
    {{"-encrypt"}, WHOLE, NEXT | GLUED, " consul"},
    {{"preshared-key", "private-key"}, UNLESS_FILE, NEXT, " wg"},
    {{"-b"}, '=', COMBINED, " curl"},
    {{"--cookie"}, '=', NEXT, " curl"},
    {{"--from-literal"}, '=', NEXT | GLUED, " kubectl oc"},
    {{"-u"}, ',', NEXT | GLUED, " open lftp"},
    {{"-u", "-U"}, ':', COMBINED, " curl curlie aws-curl"},
    {{"--user", "--proxy-user", "-E", "--cert", "--proxy-cert"}, ':', NEXT | GLUED, " curl etcdctl"},
    {{"-a", "--auth"}, ':', NEXT | GLUED, " http* xh* hey"},
    {{"-A", "-P"}, ':', NEXT | GLUED, " ab"},
    {{"-u", "--basic"}, ':', NEXT, " nuclei wfuzz"},
    {{"-auth"}, ':', NEXT, " jenkins-cli java"},
    {{"-U", "--user"}, '%', NEXT | GLUED, " smb* rpcclient net winexe pth-* wmic"},
    {{"-a"}, '%', NEXT, " wbinfo"},
    {{""}, WHOLE, 0, " mkpasswd"},
    {{""}, ':', 0, " mysqlsh"},
    {{""}, '/', 0, " sqlplus* sqlldr impdp expdp imp exp rman sql"},
    {{""}, '=', 0, " vault-kv"},
    {{""}, SECOND, 0, " net-user isql iusql htpasswd wpa_passphrase radtest steamcmd two-words"},
    {{""},
     NAMED,
     0,
     " aws npm yarn pnpm gcloud composer poetry rclone pulumi nmcli wpa_cli dvc conda pdftk s3cmd snowsql"},
    {{NULL}, 0, 0, NULL},
};

/* PROGRAM:WORD, after which a secret follows. */
const char redact_follows[] =
    " security:-w kadmin:-w kadmin.local:-w kinit:-w ssh-keygen:-N gh-secret:--body gh-secret:-b wandb:login "
    "vault:login"
    " cargo:login snyk:auth heroku:auth:token ngrok:authtoken ngrok:add-authtoken bw:unlock vault:unseal"
    " db2:using mysqladmin:password mariadb-admin:password pdftk:user_pw iwconfig:key xauth:."
    " xauth:MIT-MAGIC-COOKIE-1 erl:-setcookie hdiutil:-passphrase nuget:-ApiKey netlify:--auth caddy:--plaintext"
    " qpdf:--encrypt aws:--sse-c-key gitlab-runner:-r iscsiadm:-v signtool:/p curl:--oauth2-bearer";

const struct turn redact_turns[] = {
    {{"secret"}, "gh-secret", " gh"},
    {{"login"}, "login", " docker podman nerdctl buildah skopeo helm crane oras oc az regctl cf twilio"},
    {{"profiles:create"}, "login", " twilio"},
    {{"login"}, "token-login", " vagrant"},
    {{"login"}, "two-words", " bw"},
    {{"auth"}, "two-words", " cf"},
    {{"add_user", "change_password", "authenticate_user"}, "two-words", " rabbitmqctl"},
    {{"config"}, "two-words", " poetry"},
    {{"alias", "host"}, "two-words", " mc mcli"},
    {{"passwd"}, "two-words", " etcdctl"},
    {{"passwd"}, "mkpasswd", " openssl"},
    {{"kv"}, "vault-kv", " vault"},
    {{"put-parameter"}, "aws-put", " aws"},
    {{"user", "use"}, "net-user", " net"},
    {{NULL}, NULL, NULL},
};

const char redact_wrappers[] =
    " expect spawn sudo doas su env nice ionice chrt taskset timeout nohup setsid stdbuf strace ltrace perf time xargs "
    "parallel"
    " watch flock chroot unshare nsenter runuser gosu su-exec tini dumb-init systemd-run docker podman nerdctl"
    " kubectl oc docker-compose ssh sh bash dash zsh ksh ash busybox exec command srun mpirun mpiexec numactl"
    " unbuffer script screen tmux torify proxychains proxychains4 valgrind gdb catchsegv baro python python3 pipx"
    " uvx npx uv chpst setpriv caffeinate then do else if while until ! xvfb-run cmd cmd.exe dbus-run-session"
    " faketime";
const char redact_shells[] = " sh bash dash zsh ksh ksh93 mksh ash fish csh tcsh busybox su runuser script flock rbash";
const char redact_remotes[] = " ssh eval watch parallel xargs tmux screen sshpass pdsh clush expect";
const char redact_prose[] =
    " git gh glab hg svn echo printf grep egrep fgrep rg ag ack notify-send logger sed awk gawk mawk man bzr jj"
    " find fd less more say figlet cowsay zenity dialog whiptail";
const char redact_takes_names[] =
    " docker podman buildah nerdctl gcloud kubectl docker-compose buildctl kaniko kubeseal systemd-creds oc pulumi";
const char redact_reads_secrets[] =
    " *passwordeval *password_cmd *password-cmd *password-command *password_command *PasswordCommand"
    " *pass-command *passcommand *secret-command *token-command *token-cmd -S chpasswd --password-stdin"
    " --passphrase-fd --with-token --stdin --pass-stdin --passwd-on-stdin passwd --key-file=-";
const char redact_before_quotes[] = " *password *convertto-securestring -string";

/* ---- tokens by the prefix of their issuer, and addresses that are a permission for everyone who has them ---- */

const struct prefix redact_prefixes[] = {
    {10, ANY,
     " xoxb- xoxp- xoxa- xoxr- xoxs- xoxe- xoxe. xapp- sk_live_ sk_test_ rk_live_ rk_test_ tskey- EAACEdEose0cBA"},
    {16, ANY,
     " AKIA ASIA glpat- gldt- glrt- glcbt- glptt- glft- GR1348941 whsec_ GOCSPX- hvs. hvb. lin_api_ sq0atp- sq0csp-"
     "- dckr_pat_ wandb_v1_"},
    {20, ANY,
     " ghp_ gho_ ghu_ ghs_ ghr_ github_pat_ ya29. hf_ dop_v1_ doo_v1_ shpat_ shpss_ shpca_ AGE-SECRET-KEY-1 figd_"
     " nvapi- gsk_ PMAK- ATATT3 sntrys_ NRAK- glsa_ eyJrIjoi CFPAT- dp.pt. dp.st. fo1_ FlyV1"},
    {30, ANY, " AIza npm_ phc_ rubygems_ sgp_ pplx-"},
    {20, MIXED, " sk- vercel_"},
    {24, MIXED, " s. ATBB"},
    {30, MIXED, " SG. pypi- r8_ key- dapi pul- secret_ ntn_ cio pat- xai-"},
    {40, MIXED, " sl. AQAAAA MTE"},
    {0, PATH,
     " hooks.slack.com/services/ discord.com/api/webhooks/ discordapp.com/api/webhooks/ webhook.office.com/"
     " api.telegram.org/bot chat.googleapis.com/v1/spaces/ hooks.zapier.com/hooks/ maker.ifttt.com/trigger/"},
    {0, ANY, NULL},
};
