"""Commands of a developer's day, none of which may stop to ask; pushes ask once in a folder."""

PUSHES = ("git push", "git push -u origin HEAD", "git push origin main --tags", "git push --follow-tags")

EVERYDAY = r"""
git status
git status --short --branch
git diff
git diff --cached --stat
git diff HEAD~3 -- src/app.py
git log --oneline -20
git log --graph --decorate --all
git log -p --follow README.md
git log --since='2 weeks ago' --author=ann
git show HEAD
git show HEAD~2:src/app.py
git blame -L 10,20 src/app.py
git add -A
git add src tests
git add -p < /dev/null
git commit -m 'Fix the parser'
git commit -am "Fix: handle ~/.ssh paths; drop sudo"
git commit --amend --no-edit
git branch -a
git branch feature/x
git switch -c feature/x
git switch main
git checkout feature/x
git checkout -b hotfix
git merge --no-ff feature/x
git rebase main
git rebase --continue
GIT_EDITOR=true git rebase --continue
git stash push -m wip
git stash pop
git stash list
git fetch --all --prune
git pull --rebase
git remote -v
git remote add upstream https://github.com/a/b.git
git tag v1.0.0
git tag -l 'v1.*'
git describe --tags --always
git rev-parse --show-toplevel
git rev-parse --abbrev-ref HEAD
git ls-files '*.py'
git grep -n TODO
git cherry-pick abc123
git revert --no-edit HEAD
git bisect start
git config --get user.email
git config user.name "Ann"
git config --list
git -c color.ui=always diff
git -c core.pager=cat log -3
git -C sub status
git worktree list
git submodule update --init --recursive
git shortlog -sn
git reset HEAD src/app.py
git reset --soft HEAD~1
git restore --staged .
git clone https://github.com/a/b.git
git clone --depth 1 git@github.com:a/b.git vendor/b
git init demo
git apply fix.patch
git format-patch -1 HEAD
git clean -nd
PAGER=cat git log -5
pytest
pytest -q tests/unit -k 'not slow' -x
python -m pytest --cov=app --cov-report=term-missing
PYTHONPATH=src pytest tests
.venv/bin/pytest -n 4
python3 -m unittest discover
python3 manage.py test
python3 manage.py makemigrations
python3 manage.py runserver 8000
tox -e py311
ruff check . && ruff format --check .
ruff check --fix src
mypy --strict src
black --check .
python3 -m venv .venv
.venv/bin/pip install -r requirements.txt
.venv/bin/python -m pip install -e '.[dev]'
source .venv/bin/activate && pip install requests
.venv/bin/pip install --no-index --find-links vendor demo
.venv/bin/python -m pip install --no-index --find-links=./vendor -r requirements.txt
. .venv/bin/activate && pip install --no-index --find-links vendor demo
. venv/bin/activate; pip install -U pip
pip list --outdated
pip show requests
pip freeze > requirements.txt
python3 --version
python3 -c "print(1 + 1)"
python3 -c "import sys; print(sys.version)"
python3 -c 'import json; print(json.load(open("package.json"))["version"])'
python3 -c "import app; print(app.__version__)"
python3 -c "print(open('README.md').read()[:200])"
python3 -c "from datetime import datetime; print(datetime.now())"
python3 -c "import os; print(os.getcwd(), os.listdir('.'))"
python3 -c "open('out.txt', 'w').write('hello')"
python3 -m json.tool data.json
python3 -m http.server 8000 --bind 127.0.0.1
python3 -m timeit 'sum(range(100))'
python3 scripts/build.py --fast
python3 - <<'EOF'
node -e "console.log(process.version)"
node -p "require('./package.json').version"
node scripts/build.js
npm test
npm run build
npm run lint -- --fix
npm ls --depth=0
npm outdated
npm --version
npm audit
npm pack --dry-run
yarn build
yarn test --watch=false
pnpm run dev
NODE_ENV=production npm run build
NODE_OPTIONS=--max-old-space-size=4096 npm run build
tsc --noEmit
cargo build --release
cargo test
cargo clippy -- -D warnings
cargo fmt --check
cargo run -- --help
go build ./...
go test ./... -run TestX -v
go vet ./...
go mod tidy
gofmt -l .
make
make -j4 all
make clean
make test
make -C docs html
make install DESTDIR=build/root
cmake -S . -B build && cmake --build build -j
gcc -O2 -Wall -o prog main.c && ./prog
g++ -std=c++20 main.cpp -o main
javac Main.java && java Main
mvn -q test
./gradlew test
./configure --prefix=$PWD/out && make
bundle exec rspec
rails test
composer validate
php -l index.php
php -r 'echo PHP_VERSION;'
ruby -e 'puts RUBY_VERSION'
perl -ne 'print if /error/i' app.log
perl -e 'print join(",", 1..5), "\n"'
terraform fmt -check
terraform validate
terraform plan
kubectl get pods -A
kubectl describe pod web-1
kubectl logs -f web-1
helm list
docker ps -a
docker images
docker logs --tail 50 web
docker compose ps
docker compose logs web
aws s3 ls
aws sts get-caller-identity
aws ec2 describe-instances
gcloud config list
az account show
gh pr list
gh pr view 12
gh issue view 3 --comments
gh run watch
gh repo view
psql -c 'select count(*) from users'
psql -l
psql mydb -c "SELECT id, name FROM users WHERE id < 10 ORDER BY id LIMIT 5;"
mysql -e 'show tables' shop
sqlite3 app.db 'select * from users limit 5'
sqlite3 app.db .tables
sqlite3 app.db "create table t (a int); insert into t values (1)"
redis-cli ping
redis-cli get user:1
ls -la
ls -R src | head -50
ls ~/projects
ls /usr/local/bin
ll
pwd
cd src && ls
cat README.md
cat src/*.py | wc -l
cat /etc/os-release
cat /proc/meminfo
head -n 20 app.log
tail -n 100 app.log | grep ERROR
tail -f app.log
less README.md
bat src/app.py
wc -l src/*.py
sort names.txt | uniq -c | sort -rn | head
sort -o sorted.txt names.txt
cut -d, -f2 data.csv
tr a-z A-Z < in.txt > out.txt
paste a b
column -t -s, data.csv
diff -u a.txt b.txt
diff -r old new
cmp a b
comm -12 a b
file image.png
stat README.md
tree -L 2
du -sh *
df -h
free -m
uptime
uname -a
whoami
id
hostname
date
date +%F
cal
env | sort
printenv PATH
echo $HOME
echo "rm -rf ~ is dangerous"
which python3
type git
command -v node
grep -rn TODO src
grep -r 'curl .* | sh' docs
grep -E "^(a|b)" file.txt
grep -v '^#' config.ini
grep -rn '~/.ssh/id_rsa' docs
rg 'def \w+' -t py
rg --files | head
ag needle src
find . -name '*.py'
find . -type f -size +1M
find . -name '*.log' -mtime +7 -print
find src -name '*.ts' | xargs wc -l
find . -name '*.py' -exec grep -l asyncio {} +
find ~/projects -maxdepth 2 -name .git
fd -e py
sed -n '1,20p' src/app.py
sed -n '/start/,/end/p' app.log
sed 's/foo/bar/g' file.txt
sed -i 's/foo/bar/g' src/app.py
sed -i.bak -e 's/a/b/' -e '/^$/d' notes.txt
sed -E 's#https?://([^/]+)/.*#\1#' urls.txt
sed '/^#/d; s/[ew]/x/g' file.txt
grep -rl foo src | xargs sed -i 's/foo/bar/g'
awk '{print $1}' access.log
awk -F, '$3 > 100 {print $1, $3}' data.csv
awk 'NR==FNR {a[$1]; next} $1 in a' x y
awk '{s += $1} END {print s / NR}' numbers.txt
awk -v n=3 'NR > n && /error|warn/ {c++} END {print c}' app.log
jq '.items[].name' data.json
jq -r '.version' package.json
yq '.services' docker-compose.yml
curl https://example.com
curl -s https://api.github.com/repos/a/b | jq .stargazers_count
curl -I https://example.com
curl -sSL -o page.html https://example.com/
curl -H 'Accept: application/json' https://api.example.com/items
curl -O https://example.com/data.csv
curl -s localhost:8080/health
curl -X POST -d '{"a": 1}' http://localhost:8000/items
curl -s -X DELETE http://127.0.0.1:8000/items/1
curl --json '{"a": 1}' http://localhost:3000/api
wget -q https://example.com/data.tar.gz
wget -O data.json https://example.com/data.json
ping -c 1 example.com
dig +short example.com
nslookup example.com
ss -tlnp
netstat -an
ip addr
lsof -i :8080
ps aux
ps -ef | grep python
ps -eo pid,cmd
top -b -n 1 | head
tar czf dist.tar.gz dist
tar xzf dist.tar.gz
tar -xf a.tar -C build
tar tf a.tgz
zip -r out.zip dist
unzip a.zip -d vendor
unzip -l a.zip
gzip -k file.txt
gunzip data.gz
mkdir -p build/out
touch a b
cp a.txt b.txt
cp -r src backup
mv old.py new.py
mv *.log logs/
rm out.txt
rm -f *.o core
rm *.pyc
ln -s ../shared shared
chmod +x run.sh
chmod 644 notes.txt
chmod u+x scripts/*.sh
./run.sh
./scripts/deploy-docs.sh --dry-run
bash scripts/check.sh
bash -n script.sh
sh -c 'echo hi'
bash -c 'set -e; make; make test'
set -euo pipefail; make
set -- a b; echo "$1"
for f in *.py; do python3 -m py_compile "$f"; done
for i in 1 2 3; do echo $i; done
while read -r line; do echo "$line"; done < names.txt
if [ -f .env ]; then echo yes; fi
test -d build || mkdir build
[ -x /usr/bin/git ] && echo git
export DEBUG=1; ./run.sh
DEBUG=1 ./app
LC_ALL=C sort names.txt
EDITOR=vim true
timeout 60 make test
time make
nice make -j2
nohup ./server > server.log 2>&1 &
sleep 1
seq 1 10 | xargs -n 1 echo
echo a b | xargs -I{} echo {}
xargs -a files.txt wc -l
tee notes.txt < in.txt
echo x >> notes.txt
cat > notes.txt <<'EOF'
printf '%s\n' "$PATH" | tr ':' '\n'
base64 file.bin
echo aGk= | base64 -d
sha256sum dist/*
md5sum a
openssl rand -hex 16
openssl x509 -in cert.pem -noout -text
xxd file.bin | head
hexdump -C file.bin
strings prog | head
nm prog
objdump -d prog | head
ldd prog
strace -c ./prog
valgrind ./prog
gpg --verify a.sig a
ssh -V
ssh-keygen -l -f key.pub
man ls
tldr tar
history
alias ll='ls -l'
trap 'echo done' EXIT
kill %1
jobs
wait
python3 script.py > /tmp/out.txt 2>&1
mktemp
tmp=$(mktemp); echo x > "$tmp"; cat "$tmp"
dir=$(dirname "$0"); echo $dir
x=$(git rev-parse HEAD); echo ${x:0:8}
echo $((2 ** 10))
ffmpeg -i in.mp4 out.mp3
convert in.png -resize 50% out.png
pandoc README.md -o README.html
pdftotext doc.pdf -
dot -Tpng g.dot -o g.png
systemctl status nginx
systemctl --user list-units
journalctl -u nginx -n 50
crontab -l
docker version
shellcheck run.sh
prettier --check .
eslint src --ext .ts
pre-commit run --all-files
alembic upgrade head
flask run
uvicorn app:app --reload
celery -A app worker
poetry run pytest
uv run pytest
hatch test
nox -s tests
sphinx-build docs docs/_build
mkdocs build
jupyter nbconvert --to html a.ipynb
code --version
tmux ls
git log --oneline main..HEAD
git diff --name-only origin/main
git stash show -p stash@{0}
git rm --cached big.bin
git mv a b
git blame README.md | head
git log --format='%h %an %s' | sort | uniq -c
git status && git diff && git log -1
git ls-remote origin
git archive HEAD -o out.zip
git update-index --assume-unchanged x
git merge-base main HEAD
git name-rev HEAD
git notes list
bundle install
go get ./...
composer install
python3 -c "import numpy as np; print(np.arange(10).sum())"
python3 -c "import sys, json; d = json.load(sys.stdin); print(d['name'])" < package.json
cat data.json | python3 -c "import sys,json; print(len(json.load(sys.stdin)))"
python3 -c "for i in range(3): print(i)"
python3 -c "import re; print(re.sub('a', 'b', 'aaa'))"
python3 -c "import re; print(re.compile('a+').findall('aab'))"
python3 -c "print(','.join(map(str, range(5))))"
python3 -c "import math; print(math.pi)"
python3 -c "import platform; print(platform.platform())"
python3 -c "import csv; print(sum(1 for _ in csv.reader(open('a.csv'))))"
python3 -c "from app import main; main()"
python3 -c "import hashlib; print(hashlib.sha256(b'x').hexdigest())"
python3 -c "import time; time.sleep(1)"
python3 -c "import os; print(os.environ.get('PATH'))"
python3 -c "import os; print(os.path.join('a', 'b'))"
python3 -c "import pathlib; print(list(pathlib.Path('.').glob('*.py')))"
python3 -c "import requests; print(requests.get('https://example.com').status_code)"
python3 -c "import urllib.request as u; print(u.urlopen('https://example.com').status)"
python3 -c "import ast; print(ast.dump(ast.parse('1+1')))"
python3 -c "import sqlite3; print(sqlite3.sqlite_version)"
python3 -c "import random; print(random.randint(1, 6))"
python3 -c "with open('a.txt') as f: print(f.read())"
node -e "const fs=require('fs'); console.log(fs.readFileSync('a.txt','utf8'))"
node -e "console.log(JSON.stringify({a:1}, null, 2))"
node --version && npm --version
ruby -v
perl -pe 's/a/b/' in.txt
perl -i -pe 's/a/b/' in.txt
perl -lane 'print $F[0]' in.txt
perl -0777 -ne 'print length' f
awk '/^#/{next} {print}' f
awk 'length > 80' src/app.py
awk '{a[$1]+=$2} END{for(k in a) print k, a[k]}' f
awk -F: '{print $1 ":" $3}' /etc/passwd
awk '{printf "%s|%s\n", $1, $2}' f
awk 'BEGIN{FS="|"} {print $2}' f
awk '{ if ($1 >= 5 && $2 < 3) print }' f
awk '!seen[$0]++' f
awk '{print $1 > "out.txt"}' f
sed -n 5p f
sed '$d' f
sed '1d;$d' f
sed 's/\/usr\/bin/\/bin/g' f
sed -e 's/^/  /' f
sed 's|a|b|' f
sed '/foo/!d' f
sed '/^$/N;/^\n$/D' f
sed -n '/a/{p;q}' f
sed '10q' f
sed "s/VERSION/$VERSION/" f
sed 's/[^a-z]//g' f
sed '1i header' f
sed 'y/abc/xyz/' f
sed = f | sed 'N;s/\n/\t/'
find . -type d -name node_modules -prune -o -name '*.js' -print
find . -newer a -type f
find . -name '*.md' -exec head -1 {} \;
find . -maxdepth 1 -type f -printf '%f\n'
find src -type f | sort | xargs md5sum
find . -name '*.c' -o -name '*.h' | xargs wc -l | tail -1
find . -perm -111 -type f
find /usr/include -name 'stdio.h'
find . -name '*.py' -print0 | xargs -0 grep -n foo
grep -c . f
grep -rnw . -e foo
grep -A3 -B3 error app.log
grep -oP '(?<=version = ").*(?=")' pyproject.toml
zgrep error app.log.gz
curl -sL https://example.com | grep title
curl -fsS https://example.com/health || echo down
curl -w '%{http_code}\n' -o /dev/null -s https://example.com
curl -u user:pass https://api.example.com/x
curl -G https://api.example.com --data-urlencode 'q=hello'
curl -v https://example.com 2>&1 | head
curl --retry 3 -o data.zip https://example.com/data.zip && unzip data.zip
curl "$API_URL/items"
wget --spider https://example.com
wget -r -l1 https://example.com/docs
docker compose config
docker inspect web
docker stats --no-stream
docker top web
kubectl get all
kubectl top pods
kubectl config current-context
kubectl rollout status deploy/web
kubectl explain pod
helm template .
helm status x
terraform show
terraform state list
terraform output
aws s3 ls s3://bucket/path
aws logs tail /aws/lambda/x
aws iam list-users
gcloud projects list
gh pr diff 3
gh pr checks
gh api repos/a/b
gh release list
gh search issues foo
make help
make -n install
make VERBOSE=1
ninja -C build
cmake --build build --target test
ctest --output-on-failure
meson setup build
bazel build //...
./gradlew build
mvn clean package
dotnet build
swift build
zig build
rustc main.rs && ./main
cd frontend && npm run build && cd ..
(cd src && make)
pushd src && make && popd
mkdir -p logs && touch logs/a.log
cp .env.example .env
cp -a src/. build/
cp config.yaml config.yaml.bak
mv build dist
mv "old name.txt" "new name.txt"
rm -f build.log
rm dist/app.js dist/app.css
rm -f /tmp/test.db
ln -sfn releases/1 current
touch src/__init__.py
chmod a+r file
tar cvf - src | gzip > src.tgz
tar --exclude=node_modules -czf app.tgz .
tar -tzf app.tgz | head
zip -r app.zip . -x '*.git*'
gzip -dc a.gz | head
xz -k a
split -l 1000 data.csv part_
csplit f '/^---/' '{*}'
sort -u -k2,2n f
sort -t, -k3 -r f > g
join a b
uniq -d f
shuf -n 5 f
fold -w 80 f
expand f
nl f
od -c f | head
iconv -f latin1 -t utf8 a > b
dos2unix f
envsubst < tpl > out
date -d '+1 day' +%s
printf '%05d\n' 42
echo -e 'a\tb'
echo {1..5}
echo "${PATH//:/\n}"
seq 3 | while read i; do echo "n=$i"; done
for d in */; do (cd "$d" && git status -s); done
for f in $(ls *.txt); do wc -l "$f"; done
for f in *.jpg; do mv "$f" "photo_$f"; done
while ! nc -z localhost 5432; do sleep 1; done
until curl -sf localhost:8080; do sleep 1; done
if ! command -v jq >/dev/null; then echo missing; fi
case "$1" in start) echo a;; stop) echo b;; esac
func() { echo "$1"; }; func hi
arr=(a b c); echo "${arr[@]}"
[[ "$x" =~ ^[0-9]+$ ]] && echo num
test "$(uname)" = Linux && echo linux
VAR=1 make test
export PATH="$HOME/.local/bin:$PATH"; tool
export PYTHONPATH=$PWD:$PYTHONPATH
set -a; . ./.env; set +a; ./run.sh
source ~/.bashrc
source .env
. "$HOME/.cargo/env"
time pytest -q
timeout 10 ./server &
./server & sleep 2; curl -s localhost:3000; kill %1
python3 app.py & PID=$!; sleep 1; kill $PID
nohup python3 train.py > train.log 2>&1 &
watch -n 5 df -h
tail -n +2 a.csv | cut -d, -f1 | sort -u
ps aux --sort=-%mem | head
ps -p 1234 -o etime
pgrep -fl python
pstree -p
lsof -p 1234
ss -s
ip route
ifconfig
netstat -tulpn
traceroute example.com
host example.com
whois example.com
openssl s_client -connect example.com:443 </dev/null
openssl req -new -key a.key -out a.csr
ssh-keygen -t ed25519 -f ./testkey -N ''
gpg --list-keys
sqlite3 db.sqlite '.schema users'
sqlite3 db.sqlite "insert into t values (1,2)"
sqlite3 -header -csv db.sqlite 'select * from t' > t.csv
psql "$DATABASE_URL" -c 'select 1'
psql -U app -d app -c '\dt'
pg_dump -s app > schema.sql
mysqldump app > dump.sql
redis-cli info memory
redis-cli -h localhost keys 'user:*'
mongosh --eval 'db.users.find().limit(1)'
python3 manage.py migrate
python3 manage.py shell -c "print(1)"
rails db:migrate
alembic revision --autogenerate -m x
systemctl --failed
journalctl -xe --no-pager | tail
dmesg | tail
lscpu
lsblk
lspci
free -h
vmstat 1 2
iostat
sysctl -a | grep vm
ulimit -a
crontab -l | grep backup
which -a python
readlink -f a
realpath .
basename "$PWD"
cat ~/.gitconfig
cat ~/.bashrc
cat ~/.ssh/config
cat ~/.ssh/known_hosts
cat ~/.ssh/id_ed25519.pub
cat ~/notes.txt
head ~/Downloads/data.csv
ls -la ~/.config
cat /etc/passwd
cat /etc/nginx/nginx.conf
cat /var/log/syslog | tail
open index.html
xdg-open out.pdf
say done
ffprobe in.mp4
identify a.png
exiftool a.jpg
pdflatex paper.tex
latexmk -pdf paper.tex
jupyter notebook list
python3 -m pdb -c continue app.py
pdb app.py
python3 -m cProfile -s time app.py
py-spy --version
perf stat ./prog
gdb --version
hyperfine './prog a'
arp -a
loginctl
service nginx status
chmod 664 a.txt
install -Dm644 a build/a
docker inspect -f '{{.Config.Image}}' web
duckdb -c "copy (select * from 'a.csv') to 'a.parquet' (format parquet)"
python3 -c "import sqlite3; print(sqlite3.connect('a.db').execute('select 1').fetchone())"
ab -n 10 http://localhost:8000/
k6 run test.js
cloc .
tokei
scc
pkill --help
pg_restore --version
pg_restore -l dump.bak
mysqladmin ping
aws cloudformation validate-template --template-body file://t.yml
npm pkg get version
influx ping
wp plugin list
some-cms post list
"""


def everyday() -> list[str]:
    """The commands; a here-document gets its body."""
    lines = [each for each in EVERYDAY.splitlines() if each.strip()]
    return [f"{each}\nprint('hi')\nEOF" if each.endswith("<<'EOF'") else each for each in lines]
