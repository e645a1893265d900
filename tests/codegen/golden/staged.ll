define void @kernel(ptr %words, i64 %chunk, i64 %tid) nounwind "prefer-vector-width"="512" {
entry:
  %args = alloca [2 x ptr], align 8
  %steps = alloca [2 x i64], align 8
  %count = alloca i64, align 8
  %0 = mul i64 %tid, 8192
  %1 = getelementptr i64, ptr %words, i64 1
  %2 = load ptr, ptr %1, align 8
  %3 = getelementptr i8, ptr %2, i64 %0
  %4 = getelementptr i64, ptr %words, i64 26
  %5 = load ptr, ptr %4, align 8
  %6 = getelementptr i64, ptr %words, i64 27
  %7 = load ptr, ptr %6, align 8
  %raised = alloca i32, align 4
  store i32 0, ptr %raised, align 4
  %saved = alloca [64 x i8], align 16
  %8 = call i32 @feholdexcept(ptr %saved)
  %calls = alloca i64, align 8
  store i64 0, ptr %calls, align 8
  %9 = getelementptr i64, ptr %words, i64 8
  %10 = load i64, ptr %9, align 8
  %11 = urem i64 %chunk, %10
  %12 = udiv i64 %chunk, %10
  %13 = getelementptr i64, ptr %words, i64 6
  %14 = load i64, ptr %13, align 8
  %15 = mul i64 %11, %14
  %16 = getelementptr i64, ptr %words, i64 4
  %17 = load i64, ptr %16, align 8
  %18 = sub i64 %17, %15
  %19 = icmp ult i64 %18, %14
  %20 = select i1 %19, i64 %18, i64 %14
  %21 = getelementptr i64, ptr %words, i64 5
  %22 = load i64, ptr %21, align 8
  %23 = mul i64 %12, %22
  %24 = getelementptr i64, ptr %words, i64 3
  %25 = load i64, ptr %24, align 8
  %26 = sub i64 %25, %23
  %27 = icmp ult i64 %26, %22
  %28 = select i1 %27, i64 %26, i64 %22
  %29 = getelementptr i64, ptr %words, i64 9
  %30 = load ptr, ptr %29, align 8
  %31 = getelementptr i64, ptr %words, i64 10
  %32 = load i64, ptr %31, align 8
  %33 = mul i64 %23, %32
  %34 = getelementptr i8, ptr %30, i64 %33
  %35 = getelementptr i64, ptr %words, i64 11
  %36 = load i64, ptr %35, align 8
  %37 = mul i64 %15, %36
  %38 = getelementptr i8, ptr %34, i64 %37
  %39 = getelementptr i64, ptr %words, i64 12
  %40 = load ptr, ptr %39, align 8
  %41 = getelementptr i64, ptr %words, i64 13
  %42 = load i64, ptr %41, align 8
  %43 = mul i64 %23, %42
  %44 = getelementptr i8, ptr %40, i64 %43
  %45 = getelementptr i64, ptr %words, i64 15
  %46 = load ptr, ptr %45, align 8
  %47 = getelementptr i64, ptr %words, i64 16
  %48 = load i64, ptr %47, align 8
  %49 = mul i64 %23, %48
  %50 = getelementptr i8, ptr %46, i64 %49
  %51 = mul i64 %15, 8
  %52 = getelementptr i8, ptr %50, i64 %51
  br label %start
start:
  br label %row1
row1:
  %i.row1 = phi i64 [ 0, %start ], [ %i.next2, %next2 ]
  %p0.row1 = phi ptr [ %38, %start ], [ %p0.next2, %next2 ]
  %p1.row1 = phi ptr [ %44, %start ], [ %p1.next2, %next2 ]
  %p2.row1 = phi ptr [ %52, %start ], [ %p2.next2, %next2 ]
  %53 = load double, ptr %p1.row1, align 8
  %54 = getelementptr i64, ptr %words, i64 18
  %55 = load double, ptr %54, align 8
  %56 = getelementptr i64, ptr %words, i64 18
  br label %block4
block4:
  %i.block4 = phi i64 [ 0, %row1 ], [ %i.next5, %next5 ]
  %57 = sub i64 %20, %i.block4
  %58 = icmp ult i64 %57, 1024
  %59 = select i1 %58, i64 %57, i64 1024
  %60 = mul i64 %i.block4, %36
  %61 = getelementptr i8, ptr %p0.row1, i64 %60
  %62 = mul i64 %i.block4, 8
  %63 = getelementptr i8, ptr %p2.row1, i64 %62
  %64 = and i64 %59, -4
  %65 = icmp ult i64 0, %64
  br i1 %65, label %pre8, label %done9
pre8:
  %66 = load <4 x double>, ptr %56, align 8
  %67 = insertelement <4 x double> poison, double %53, i64 0
  %68 = shufflevector <4 x double> %67, <4 x double> poison, <4 x i32> zeroinitializer
  br label %loop7
loop7:
  %i.loop7 = phi i64 [ 0, %pre8 ], [ %n.loop7, %loop7 ]
  %69 = mul i64 %i.loop7, %36
  %70 = getelementptr i8, ptr %61, i64 %69
  %71 = load i64, ptr %70, align 8
  %72 = insertelement <2 x i64> poison, i64 %71, i64 0
  %73 = getelementptr i8, ptr %70, i64 %36
  %74 = load i64, ptr %73, align 8
  %75 = insertelement <2 x i64> %72, i64 %74, i64 1
  %76 = getelementptr i8, ptr %73, i64 %36
  %77 = load i64, ptr %76, align 8
  %78 = insertelement <2 x i64> poison, i64 %77, i64 0
  %79 = getelementptr i8, ptr %76, i64 %36
  %80 = load i64, ptr %79, align 8
  %81 = insertelement <2 x i64> %78, i64 %80, i64 1
  %82 = shufflevector <2 x i64> %75, <2 x i64> %81, <4 x i32> <i32 0, i32 1, i32 2, i32 3>
  %83 = bitcast <4 x i64> %82 to <4 x double>
  %84 = fmul <4 x double> %66, %83
  %85 = fadd <4 x double> %84, %68
  %86 = getelementptr double, ptr %3, i64 %i.loop7
  store <4 x double> %85, ptr %86, align 8
  %n.loop7 = add i64 %i.loop7, 4
  %87 = icmp ult i64 %n.loop7, %64
  br i1 %87, label %loop7, label %done9
done9:
  %88 = icmp ult i64 %64, %59
  br i1 %88, label %pre11, label %done12
pre11:
  br label %loop10
loop10:
  %i.loop10 = phi i64 [ %64, %pre11 ], [ %n.loop10, %loop10 ]
  %89 = mul i64 %i.loop10, %36
  %90 = getelementptr i8, ptr %61, i64 %89
  %91 = load double, ptr %90, align 8
  %92 = fmul double %55, %91
  %93 = fadd double %92, %53
  %94 = getelementptr double, ptr %3, i64 %i.loop10
  store double %93, ptr %94, align 8
  %n.loop10 = add i64 %i.loop10, 1
  %95 = icmp ult i64 %n.loop10, %59
  br i1 %95, label %loop10, label %done12
done12:
  %96 = call i32 @fetestexcept(i32 29)
  %97 = load i32, ptr %raised, align 4
  %98 = or i32 %96, %97
  store i32 %98, ptr %raised, align 4
  %99 = load i64, ptr %calls, align 8
  %100 = add i64 %99, 1
  store i64 %100, ptr %calls, align 8
  %101 = getelementptr ptr, ptr %args, i64 0
  store ptr %3, ptr %101, align 8
  %102 = getelementptr i64, ptr %steps, i64 0
  store i64 8, ptr %102, align 8
  %103 = getelementptr ptr, ptr %args, i64 1
  store ptr %63, ptr %103, align 8
  %104 = getelementptr i64, ptr %steps, i64 1
  store i64 8, ptr %104, align 8
  store i64 %59, ptr %count, align 8
  call void %5(ptr %args, ptr %count, ptr %steps, ptr %7)
  br label %next5
next5:
  %i.next5 = add i64 %i.block4, 1024
  %105 = icmp ult i64 %i.next5, %20
  br i1 %105, label %block4, label %done6
done6:
  br label %next2
next2:
  %i.next2 = add i64 %i.row1, 1
  %p0.next2 = getelementptr i8, ptr %p0.row1, i64 %32
  %p1.next2 = getelementptr i8, ptr %p1.row1, i64 %42
  %p2.next2 = getelementptr i8, ptr %p2.row1, i64 %48
  %106 = icmp ult i64 %i.next2, %28
  br i1 %106, label %row1, label %done3
done3:
  br label %exit
exit:
  %107 = getelementptr i64, ptr %words, i64 2
  %108 = load i64, ptr %calls, align 8
  %109 = atomicrmw add ptr %107, i64 %108 monotonic
  %110 = call i32 @fetestexcept(i32 29)
  %111 = load i32, ptr %raised, align 4
  %112 = or i32 %110, %111
  store i32 %112, ptr %raised, align 4
  %113 = load i32, ptr %raised, align 4
  %114 = lshr i32 %113, 2
  %115 = and i32 %114, 7
  %116 = shl i32 %113, 3
  %117 = and i32 %116, 8
  %118 = or i32 %115, %117
  %119 = and i32 %118, 14
  %120 = icmp eq i32 %119, 0
  br i1 %120, label %quiet, label %report
report:
  %121 = zext i32 %119 to i64
  %122 = getelementptr i64, ptr %words, i64 0
  %123 = atomicrmw or ptr %122, i64 %121 monotonic
  br label %quiet
quiet:
  %124 = call i32 @fesetenv(ptr %saved)
  ret void
}
declare i32 @feholdexcept(ptr)
declare i32 @fesetenv(ptr)
declare i32 @fetestexcept(i32)
!0 = !{i32 1}
